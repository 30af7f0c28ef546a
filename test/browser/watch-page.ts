/** Runs in the page. Records the arguments and results of the functions that a script can replace. */
export function watchPage(): void {
  const seen: unknown[] = []
  Object.assign(globalThis, { seenByScript: seen })
  const stringify = JSON.stringify
  const wrap = (label: string, object: object, method: string): void => {
    const original = Reflect.get(object, method)
    Reflect.set(object, method, function (this: unknown, ...args: unknown[]) {
      const result = Reflect.apply(original, this, args)
      seen.push([label, method, args.map(textOf), textOf(result)])
      return result
    })
  }
  const textOf = (value: unknown): string =>
    value instanceof Headers ? stringify([...value]) : typeof value === 'object' ? stringify(value) : String(value)
  for (const method of ['parse', 'stringify']) wrap(`JSON.${method}`, JSON, method)
  for (const method of ['set', 'append', 'get']) wrap('Headers', Headers.prototype, method)
  for (const method of ['open', 'send', 'setRequestHeader', 'getAllResponseHeaders', 'getResponseHeader'])
    wrap('xhr', XMLHttpRequest.prototype, method)
  for (const method of ['setItem', 'getItem']) wrap('storage', Storage.prototype, method)
  wrap('BroadcastChannel', BroadcastChannel.prototype, 'postMessage')
  wrap('postMessage', MessagePort.prototype, 'postMessage')
  wrap('TextEncoder', TextEncoder.prototype, 'encode')
  wrap('TextDecoder', TextDecoder.prototype, 'decode')
  addEventListener('storage', ({ key, newValue }) => seen.push(['storage event', key, newValue]))
  const { fetch: originalFetch, WebSocket: OriginalSocket } = globalThis
  globalThis.fetch = async (input, init) => {
    const response = await originalFetch(input, init)
    const sent = [...new Headers(init?.headers)]
    seen.push(['fetch', String(input), sent, [...response.headers], await response.clone().text()])
    return response
  }
  globalThis.WebSocket = class extends OriginalSocket {
    constructor(url: string | URL, protocols?: string | string[]) {
      super(url, protocols)
      seen.push(['WebSocket', String(url), protocols])
    }
  }
}
