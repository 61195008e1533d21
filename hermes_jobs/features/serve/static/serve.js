// Loads what a page shows anew when events concern it, and lets answers grow as they are written. Without this
// script, pages are as they were when they were opened.
(() => {
  // A form is sent once, however often its button is pressed.
  addEventListener('submit', e => {
    if (e.target.method !== 'post') return;
    if (e.target.dataset.sent) e.preventDefault();
    e.target.dataset.sent = '1';
  });
  addEventListener('pageshow', () => document.querySelectorAll('form').forEach(e => delete e.dataset.sent));

  const live = document.body.dataset.live;
  if (!live) return;
  const status = document.getElementById('live'), growing = new Map();
  let due = 0, loading = false, again = false, source = null, last = document.body.dataset.at;

  // What changes: the log of a session, around which one may write, else all of the page.
  const region = page => page.getElementById('log') || page.getElementById('main');
  const isBusy = () => {
    const at = document.activeElement, part = region(document);
    if (at && part.contains(at) && /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName)) return true;
    const isChosen = e => e.selectedIndex !== Math.max(0, [...e.options].findIndex(each => each.defaultSelected));
    if ([...part.querySelectorAll('select')].some(isChosen)) return true;
    return [...part.querySelectorAll('textarea, input')].some(e => e.value !== e.defaultValue || e.checked !== e.defaultChecked);
  };
  const keepOpen = (from, to) => {
    const names = e => e.id || e.querySelector('summary')?.textContent;
    const open = new Set([...from.querySelectorAll('details[open]')].map(names));
    to.querySelectorAll('details').forEach(e => { if (open.has(names(e))) e.open = true; });
  };

  const draw = (box, answer) => {
    box.hidden = !answer.text;
    box.lastElementChild.textContent = answer.text;
  };
  const grow = path => {
    const answer = { text: '', over: false, source: new EventSource(path) };
    answer.source.addEventListener('text', e => {
      const part = JSON.parse(e.data);
      answer.text = answer.text.slice(0, part.at) + part.text;
      answer.over = Boolean(part.over);
      document.querySelectorAll('[data-text]').forEach(box => { if (box.dataset.text === path) draw(box, answer); });
    });
    return answer;
  };
  const follow = () => {
    const paths = new Set();
    document.querySelectorAll('[data-text]').forEach(box => {
      const path = box.dataset.text;
      paths.add(path);
      if (!growing.has(path)) growing.set(path, grow(path));
      draw(box, growing.get(path));
    });
    growing.forEach((answer, path) => { if (!paths.has(path)) { answer.source.close(); growing.delete(path); } });
  };

  const load = async () => {
    if (isBusy()) { status.textContent = 'There is news: load the page again.'; return; }
    if (loading) { again = true; return; }
    loading = true;
    try {
      const ended = [...growing.values()].filter(answer => answer.over);
      const answer = await fetch(location.href, { headers: { Accept: 'text/html' } });
      if (answer.ok && !answer.redirected) {
        const next = new DOMParser().parseFromString(await answer.text(), 'text/html');
        const old = region(document), fresh = region(next);
        if (old.innerHTML !== fresh.innerHTML && !isBusy()) {
          keepOpen(old, fresh);
          ended.forEach(answer => { if (answer.over) answer.text = ''; });  // the page has it now
          old.replaceWith(fresh);
          document.title = next.title;
          status.textContent = 'Brought up to date.';
          follow();
        }
      }
    } catch { /* the server starts again: the source of events comes back, and an event with it */ } finally {
      loading = false;
      if (again) { again = false; load(); }
    }
  };
  const open = () => {
    const query = [live === 'all' ? '' : live, 'after=' + last].filter(Boolean).join('&');
    source = new EventSource('/events?' + query);
    source.onmessage = e => { last = e.lastEventId; clearTimeout(due); due = setTimeout(load, 250); };
    follow();
  };
  const close = () => {  // a browser has six connections for all its pages
    source?.close();
    growing.forEach(answer => answer.source.close());
    growing.clear();
  };
  addEventListener('pagehide', close);
  addEventListener('pageshow', e => { if (e.persisted) open(); });
  document.addEventListener('visibilitychange', () => { close(); if (!document.hidden) open(); });
  open();
})();
