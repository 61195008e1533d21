// Loads a page's content anew when events concern it. Without this script, pages are as they were when they were opened.
(() => {
  const live = document.body.dataset.live;
  if (!live) return;
  const status = document.getElementById('live');
  let due = 0, loading = false, again = false;

  const isBusy = () => {
    const at = document.activeElement, main = document.getElementById('main');
    if (at && main.contains(at) && /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName)) return true;
    return [...main.querySelectorAll('textarea, input[type=text]')].some(e => e.value !== e.defaultValue);
  };
  const keepOpen = (from, to) => {
    const names = e => e.id || e.querySelector('summary')?.textContent;
    const open = new Set([...from.querySelectorAll('details[open]')].map(names));
    to.querySelectorAll('details').forEach(e => { if (open.has(names(e))) e.open = true; });
  };
  const load = async () => {
    if (isBusy()) { status.textContent = 'There is news: load the page again.'; return; }
    if (loading) { again = true; return; }
    loading = true;
    try {
      const answer = await fetch(location.href, { headers: { Accept: 'text/html' } });
      if (answer.ok && !answer.redirected) {
        const next = new DOMParser().parseFromString(await answer.text(), 'text/html');
        const main = document.getElementById('main'), fresh = next.getElementById('main');
        if (main.innerHTML !== fresh.innerHTML && !isBusy()) {
          keepOpen(main, fresh);
          main.replaceWith(fresh);
          document.title = next.title;
          status.textContent = 'Brought up to date.';
        }
      }
    } finally {
      loading = false;
      if (again) { again = false; load(); }
    }
  };
  const source = new EventSource('/events' + (live === 'all' ? '' : '?' + live));
  source.onmessage = () => { clearTimeout(due); due = setTimeout(load, 250); };
  addEventListener('pagehide', () => source.close());
})();
