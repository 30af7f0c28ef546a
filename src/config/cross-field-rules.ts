import { codedFamilies } from '../contract/index.ts'
import type { Settings } from './schema.ts'
import { isHttps } from './values.ts'

const upstreamsOf = ({ backends }: Settings) =>
  Object.entries(backends).flatMap(([name, place]) =>
    place === undefined || place === 'in-process' ? [] : [{ name, ...place }],
  )

/** Upstream TLS settings that would not protect the connection. */
const tlsErrors = (settings: Settings): string[] =>
  upstreamsOf(settings).flatMap(({ name, url, tls }) => {
    if (!tls) return []
    const { certFile, keyFile } = tls
    return [
      ...(isHttps(url) ? [] : [`backends.${name}.tls: needs a url that begins with https://`]),
      ...((certFile === undefined) === (keyFile === undefined)
        ? []
        : [`backends.${name}.tls: certFile and keyFile must be set together`]),
    ]
  })

/** Returns an error if two upstreams share an audience. One of them could replay its call assertions at the other. */
const audienceErrors = (settings: Settings): string[] => {
  const upstreams = upstreamsOf(settings)
  return upstreams.flatMap(({ name, url, audience }, index) => {
    const other = upstreams.slice(0, index).find((one) => one.audience === audience && one.url !== url)
    return other
      ? [`backends.${name}.audience: must differ from that of backends.${other.name}, which has another url`]
      : []
  })
}

/** Returns the errors of combinations of settings that are valid on their own. */
export const crossFieldErrors = (settings: Settings): string[] => {
  const { database, jobs, listen, requests, secureChannel } = settings
  const { headersTimeoutMs, uploadTimeoutMs } = requests
  const { provider } = settings.money.exchange
  return [
    // An export uses one connection for its snapshot and another one to save its progress.
    database.poolSize > jobs.concurrency || 'database.poolSize: must be greater than jobs.concurrency',
    database.statementTimeoutMs === 0 ||
      database.lockTimeoutMs < database.statementTimeoutMs ||
      'database.lockTimeoutMs: must be less than database.statementTimeoutMs',
    listen.port !== listen.operationsPort || listen.port === 0 || 'listen.operationsPort: must differ from listen.port',
    headersTimeoutMs <= uploadTimeoutMs ||
      'requests.headersTimeoutMs: must not be greater than requests.uploadTimeoutMs',
    // Otherwise a new key would need a successor immediately.
    secureChannel.keyOverlapMs < secureChannel.keyTtlMs ||
      'secureChannel.keyOverlapMs: must be less than secureChannel.keyTtlMs',
    // Otherwise no rate would be usable between the time at which it becomes stale and the next refresh.
    provider === undefined ||
      provider.staleAfterMs > provider.refreshMs ||
      'money.exchange.provider.staleAfterMs: must be greater than money.exchange.provider.refreshMs',
    ...tlsErrors(settings),
    ...audienceErrors(settings),
    ...codedValueErrors(settings),
  ].filter((error) => error !== true)
}

/** Returns the error of the configured numbers of a family, or undefined. */
const errorOf = (family: string, own: Readonly<Record<string, number>>): string | undefined => {
  const numbers = codedFamilies.get(family)?.values
  if (!numbers) return `unknown family ${family}`
  const unknown = Object.keys(own).find((code) => !Object.hasOwn(numbers, code))
  if (unknown !== undefined) return `unknown code ${unknown} in ${family}`
  const all = Object.values({ ...numbers, ...own })
  return new Set(all).size < all.length ? `two codes of ${family} have the same number` : undefined
}

const codedValueErrors = ({ codedValues }: Settings): string[] =>
  Object.entries(codedValues)
    .map(([family, own]) => errorOf(family, own))
    .filter((error) => error !== undefined)
    .map((error) => `codedValues: ${error}`)
