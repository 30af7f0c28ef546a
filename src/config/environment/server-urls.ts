import { Secret } from '../values.ts'

/* The client libraries ignore unknown parameters, so a typing error could disable TLS. */
type ServerName = 'DATABASE_URL' | 'REDIS_URL' | 'SMTP_URL'

interface ServerRules {
  protocols: readonly string[]
  parameters: ReadonlySet<string>
}

const servers: Readonly<Record<ServerName, ServerRules>> = {
  DATABASE_URL: {
    protocols: ['postgres', 'postgresql'],
    parameters: new Set(
      [
        ['host', 'port', 'user', 'password', 'application_name', 'fallback_application_name', 'options'],
        ['client_encoding', 'uselibpqcompat', 'ssl', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'sslnegotiation'],
        ['statement_timeout', 'lock_timeout', 'query_timeout', 'idle_in_transaction_session_timeout'],
      ].flat(),
    ),
  },
  REDIS_URL: { protocols: ['redis', 'rediss'], parameters: new Set(['db', 'family', 'tls']) },
  SMTP_URL: {
    protocols: ['smtp', 'smtps'],
    parameters: new Set(
      [
        ['requireTLS', 'name', 'authMethod', 'localAddress', 'pool', 'maxConnections', 'maxMessages'],
        ['tls.servername', 'tls.minVersion', 'tls.ciphers', 'tls.rejectUnauthorized'],
      ].flat(),
    ),
  },
}

const rules = [
  'ports are at most 65535',
  'IPv6 addresses are in brackets',
  'special characters in passwords are percent-encoded',
  'Redis databases are numbers',
].join(', ')

/** Errors never contain the URL, because it has credentials. */
export function serverUrl(name: ServerName, text: string | undefined, errors: string[]): Secret<string> | null {
  if (text === undefined) return null
  const starts = servers[name].protocols.map((protocol) => `${protocol}://`)
  if (!starts.some((start) => text.startsWith(start)))
    errors.push(`${name}: must be a URL that begins with ${starts.join(' or ')}`)
  else if (!isReadable(text)) errors.push(`${name}: is not a valid URL: ${rules}`)
  else if (hasIneffectivePostgresTls(text))
    errors.push(`${name}: has a TLS parameter that PostgreSQL clients ignore; use ?sslmode=verify-full`)
  else if (hasIneffectiveRedisTls(text))
    errors.push(`${name}: has a tls parameter other than off; use rediss:// for TLS`)
  return new Secret(withoutTlsOff(text))
}

export function isLocal({ hostname, searchParams }: URL): boolean {
  const host = searchParams.get('host') ?? (decoded(hostname) ?? hostname).replace(/^\[|\]$/g, '')
  return host === '' || host.startsWith('/') || host === 'localhost' || host === '::1' || /^127\.[\d.]+$/.test(host)
}

const tlsError: Readonly<Record<ServerName, (url: URL) => string | undefined>> = {
  DATABASE_URL: (url) =>
    isLocal(url) || url.searchParams.has('sslmode') || url.searchParams.has('ssl')
      ? undefined
      : 'needs ?sslmode=verify-full in production, or ?sslmode=disable to connect without encryption',
  REDIS_URL: (url) =>
    isLocal(url) || url.protocol === 'rediss:' || url.searchParams.get('tls') === 'off'
      ? undefined
      : 'must begin with rediss:// in production, or have ?tls=off to connect without encryption',
  SMTP_URL: (url) =>
    leavesMailTlsOpen(url)
      ? 'smtp:// needs ?requireTLS=true in production, or ?requireTLS=false to send codes and links without encryption'
      : undefined,
}

export function productionServerErrors(urls: Partial<Record<ServerName, string>>): string[] {
  const names: readonly ServerName[] = ['DATABASE_URL', 'REDIS_URL', 'SMTP_URL']
  return names.flatMap((name) => (urls[name] === undefined ? [] : errorsOf(name, urls[name])))
}

/** For some URLs, the client library throws an unclear error or ends the process. */
function isReadable(text: string): boolean {
  const url = URL.parse(text)
  if (url === null || !(Number(url.searchParams.get('port')) <= 65_535)) return false
  if (!url.protocol.startsWith('redis')) return true
  return decoded(`${url.username}:${url.password}`) !== undefined && /^\/?\d*$/.test(url.pathname)
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** The PostgreSQL library ignores unknown TLS parameters and connects without TLS. */
function hasIneffectivePostgresTls(text: string): boolean {
  const parameters = [...(URL.parse(text)?.searchParams ?? [])].filter(([name]) => /ssl|tls/i.test(name))
  const isEffective = ([name, value]: [string, string]): boolean =>
    name === 'ssl' ? /^(true|1|0)$/.test(value) : /^ssl(mode|rootcert|cert|key|negotiation)$/.test(name) && value !== ''
  return text.startsWith('postgres') && parameters.length > 0 && !parameters.some(isEffective)
}

/** Only `rediss://` turns TLS on. */
function hasIneffectiveRedisTls(text: string): boolean {
  return (
    text.startsWith('redis') && (URL.parse(text)?.searchParams.getAll('tls') ?? []).some((value) => value !== 'off')
  )
}

/** `tls=off` only states that the lack of TLS is intended. The Redis library would misread it. */
function withoutTlsOff(text: string): string {
  const url = URL.parse(text)
  if (url === null || !url.protocol.startsWith('redis') || url.searchParams.get('tls') !== 'off') return text
  url.searchParams.delete('tls')
  return url.href
}

/** An attacker in the middle can remove STARTTLS, so a mail URL must state whether to continue without TLS. */
function leavesMailTlsOpen({ protocol, searchParams }: URL): boolean {
  return protocol === 'smtp:' && !/^(true|false)$/.test(searchParams.getAll('requireTLS').join())
}

function errorsOf(name: ServerName, text: string): string[] {
  const url = URL.parse(text)
  if (url === null) return []
  const keys = [...new Set(url.searchParams.keys())]
  const unknown = keys.filter((key) => !servers[name].parameters.has(key))
  // The client library uses the last one, and the check of TLS the first one. That of requireTLS reads all.
  const repeated = keys.filter((key) => key !== 'requireTLS' && url.searchParams.getAll(key).length > 1)
  return [
    tlsError[name](url),
    ...unknown.map((key) => `has the unknown parameter ${key}`),
    ...repeated.map((key) => `has the parameter ${key} more than once`),
  ].flatMap((error) => (error === undefined ? [] : [`${name}: ${error}`]))
}
