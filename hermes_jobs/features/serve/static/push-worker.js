// Shows what arrives while no page is open; a tap opens its page.
addEventListener('install', () => skipWaiting());
addEventListener('push', event => {
  const { title, text, path, tag } = event.data.json();
  event.waitUntil(registration.showNotification(title, { body: text, tag, data: path }));
});
addEventListener('notificationclick', event => {
  event.notification.close();
  event.waitUntil(clients.openWindow(new URL(event.notification.data, registration.scope)));
});
