// “Notify this browser”: shown where browsers allow it, which is on HTTPS and on loopback (ADR 183).
(async () => {
  const box = document.getElementById('push');
  if (!box || !isSecureContext || !('serviceWorker' in navigator) || !('PushManager' in window)) return;
  const button = box.querySelector('button'), said = box.querySelector('[role=status]');
  const known = new Set(box.dataset.browsers.split(' '));

  const ask = async (path, fields = {}) => {
    const body = new URLSearchParams({ csrf: box.dataset.csrf, ...fields });
    const answer = await fetch(path, { method: 'POST', body });
    const type = answer.headers.get('content-type') || '';
    const given = type.startsWith('application/json') ? await answer.json() : { error: await answer.text() };
    if (!answer.ok) throw new Error(given.error);
    return given.said;
  };
  const idOf = async subscription => {  // as the server makes it
    const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(subscription.endpoint));
    return [...new Uint8Array(digest)].map(byte => byte.toString(16).padStart(2, '0')).join('').slice(0, 12);
  };
  const current = async () => (await navigator.serviceWorker.getRegistration('/'))?.pushManager.getSubscription();
  const show = async () => {
    const subscription = await current();
    const isOn = Boolean(subscription) && known.has(await idOf(subscription));
    button.textContent = isOn ? 'Stop notifying this browser' : 'Notify this browser';
    button.dataset.on = isOn ? '1' : '';
    box.hidden = false;
  };
  const start = async () => {
    if (await Notification.requestPermission() !== 'granted') throw new Error('The browser does not allow notifications of this site.');
    await navigator.serviceWorker.register('/push-worker.js');
    const worker = await navigator.serviceWorker.ready;
    const key = await ask('/push/key');
    await (await worker.pushManager.getSubscription())?.unsubscribe();  // one made for another key is refused
    const subscription = await worker.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
    const { endpoint, keys } = subscription.toJSON();
    known.add(await ask('/push', { endpoint, p256dh: keys.p256dh, auth: keys.auth }));
    return 'This browser is notified of answers to the target push.';
  };
  const stop = async () => {
    const subscription = await current(), browser = await idOf(subscription);
    await subscription.unsubscribe();
    await ask(`/push/${browser}/remove`);
    known.delete(browser);
    return 'This browser is not notified any more.';
  };

  button.addEventListener('click', async () => {
    button.disabled = true;
    try {
      said.textContent = await (button.dataset.on ? stop() : start());
    } catch (error) {
      said.textContent = `That did not work: ${error.message}`;
    } finally {
      button.disabled = false;
      await show();
    }
  });
  await show();
})();
