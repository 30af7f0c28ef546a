import { Secret } from './secrets.ts'

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** What its library would stumble over with words of its own, or end the process by. */
const isReadable = (text: string): boolean => {
  const url = URL.parse(text)
  if (url === null || !(Number(url.searchParams.get('port')) <= 65_535)) return false
  if (!url.protocol.startsWith('redis')) return true
  return decoded(`${url.username}:${url.password}`) !== undefined && /^\/?\d*$/.test(url.pathname)
}

/** PostgreSQL's library passes over what it does not know, and goes on in the clear, or falls over what it cannot use. */
const asksForTlsInVain = (text: string): boolean => {
  const asked = [...(URL.parse(text)?.searchParams ?? [])].filter(([name]) => /ssl|tls/i.test(name))
  const isHeeded = ([name, value]: [string, string]): boolean =>
    name === 'ssl' ? /^(true|1|0)$/.test(value) : /^ssl(mode|rootcert|cert|key|negotiation)$/.test(name) && value !== ''
  return text.startsWith('postgres') && asked.length > 0 && !asked.some(isHeeded)
}

const rules = [
  'a port is at most 65535',
  'an IPv6 address stands in brackets',
  'what a password holds beside letters and digits is written with %',
  'a database of Redis is a number',
].join(', ')

/** The address of a server with its credentials, which no fault repeats. */
export const serverUrl = (name: string, text: string | undefined, protocols: string[], faults: string[]) => {
  if (text === undefined) return null
  const starts = protocols.map((protocol) => `${protocol}://`)
  if (!starts.some((start) => text.startsWith(start)))
    faults.push(`${name}: must be a URL beginning with ${starts.join(' or ')}`)
  else if (!isReadable(text)) faults.push(`${name}: cannot be read: ${rules}`)
  else if (asksForTlsInVain(text))
    faults.push(`${name}: asks for TLS by a name or a value that is not heeded: ?sslmode=verify-full is`)
  return new Secret(text)
}
