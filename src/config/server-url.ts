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
  return new Secret(text)
}
