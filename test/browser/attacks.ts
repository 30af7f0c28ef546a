/** The knowledge of an attacker's page, in the worst case: everything except the cookie. */
export interface AttackTarget {
  /** Of a command, which also gets the reads. */
  url: string
  body: string
  /** The headers that the portal requires, with the client hash of the victim. */
  headers: Record<string, string>
  /** The WebSocket's URL, and its protocols, which have the headers. */
  socket: { url: string; protocols: string[] } | null
}

/**
 * Run in the attacker's page. Each resolves once the browser has sent or refused the request, with what the page could
 * read, or null.
 */
export const attacks: Record<string, (target: AttackTarget) => Promise<unknown>> = {
  'a form': ({ url, body }) =>
    new Promise((resolve) => {
      const frame = Object.assign(document.createElement('iframe'), { name: 'target' })
      const form = Object.assign(document.createElement('form'), { action: url, method: 'post', target: 'target' })
      form.enctype = 'text/plain'
      form.append(Object.assign(document.createElement('input'), { name: body.slice(0, -1), value: '"x"}' }))
      document.body.append(frame, form)
      frame.onload = () => resolve(null)
      form.submit()
      setTimeout(resolve, 2_000, null)
    }),
  'fetch with no-cors': ({ url, body }) =>
    fetch(url, { method: 'POST', mode: 'no-cors', credentials: 'include', body }).then(
      (response) => response.text().then((text) => text || null),
      () => null,
    ),
  'fetch with all headers': ({ url, body, headers }) =>
    fetch(url, { method: 'POST', credentials: 'include', body, headers }).then(
      (response) => response.text(),
      () => null,
    ),
  'fetch of a reply': ({ url }) =>
    fetch(url, { credentials: 'include' }).then(
      (response) => response.text(),
      () => null,
    ),
  'a beacon': async ({ url, body }) => {
    navigator.sendBeacon(url, body)
    return null
  },
  'an image': ({ url }) =>
    new Promise((resolve) => {
      Object.assign(new Image(), { src: url, onload: () => resolve('an image'), onerror: () => resolve(null) })
    }),
  'a script': ({ url }) =>
    new Promise((resolve) => {
      const events = { onload: () => resolve('a script'), onerror: () => resolve(null) }
      document.head.append(Object.assign(document.createElement('script'), { src: url, ...events }))
    }),
  'an iframe': ({ url }) =>
    new Promise((resolve) => {
      const frame = document.createElement('iframe')
      frame.onload = () => resolve(frame.contentDocument?.body.textContent || null)
      document.body.append(Object.assign(frame, { src: url }))
    }),
  'an EventSource': ({ url }) =>
    new Promise((resolve) => {
      const source = new EventSource(url, { withCredentials: true })
      const events = { onopen: () => resolve('a stream'), onerror: () => resolve(null) }
      Object.assign(source, events)
    }),
  'a WebSocket': ({ socket }) =>
    new Promise((resolve) => {
      if (!socket) return resolve(null)
      const events = { onopen: () => resolve('a socket'), onerror: () => resolve(null) }
      Object.assign(new WebSocket(socket.url, socket.protocols), events)
    }),
}
