import { codedFamilies } from '../contract/index.ts'
import { isHttps } from './addresses.ts'
import type { Settings } from './schema.ts'

const upstreamsOf = ({ backends }: Settings) =>
  Object.entries(backends).flatMap(([name, place]) =>
    place === undefined || place === 'in-process' ? [] : [{ name, ...place }],
  )

/** A connection that is to be proved, and cannot be as it is told, would be open to whoever stands between. */
const tlsErrors = (settings: Settings): string[] =>
  upstreamsOf(settings).flatMap(({ name, url, tls }) => {
    if (!tls) return []
    const { certFile, keyFile } = tls
    return [
      ...(isHttps(url) ? [] : [`backends.${name}.tls: needs a url that begins with https://`]),
      ...((certFile === undefined) === (keyFile === undefined)
        ? []
        : [`backends.${name}.tls: a certFile needs a keyFile, and a keyFile a certFile`]),
    ]
  })

/** One service could show the assertions that it is called with to another that goes by the same name. */
const audienceErrors = (settings: Settings): string[] => {
  const upstreams = upstreamsOf(settings)
  return upstreams.flatMap(({ name, url, audience }, place) => {
    const other = upstreams.slice(0, place).find((one) => one.audience === audience && one.url !== url)
    return other
      ? [`backends.${name}.audience: must not be that of backends.${other.name}, which is at another url`]
      : []
  })
}

/** What two settings together do not allow, each of which is good by itself. */
export const crossFieldErrors = (settings: Settings): string[] => {
  const { database, jobs, listen, requests, secureChannel } = settings
  const { headersTimeoutMs, uploadTimeoutMs } = requests
  const { provider } = settings.money.exchange
  return [
    // An export holds a connection for its snapshot, and writes down how far it is by another one.
    database.poolSize > jobs.concurrency || 'database.poolSize: must be greater than jobs.concurrency',
    database.statementTimeoutMs === 0 ||
      database.lockTimeoutMs < database.statementTimeoutMs ||
      'database.lockTimeoutMs: must be less than database.statementTimeoutMs',
    listen.port !== listen.operationsPort ||
      listen.port === 0 ||
      'listen.operationsPort: must be another port than listen.port',
    headersTimeoutMs <= uploadTimeoutMs ||
      'requests.headersTimeoutMs: must not be greater than requests.uploadTimeoutMs',
    // A new key would be due as soon as it is made.
    secureChannel.keyOverlapMs < secureChannel.keyTtlMs ||
      'secureChannel.keyOverlapMs: must be less than secureChannel.keyTtlMs',
    // Nothing would be quoted from when its rates grow stale until they are asked for again.
    provider === undefined ||
      provider.staleAfterMs > provider.refreshMs ||
      'money.exchange.provider.staleAfterMs: must be greater than money.exchange.provider.refreshMs',
    ...tlsErrors(settings),
    ...audienceErrors(settings),
    ...codedValueErrors(settings),
  ].filter((fault) => fault !== true)
}

/** What is wrong with numbers that a deployment gives to codes of a family, if anything is. */
const errorOf = (family: string, own: Readonly<Record<string, number>>): string | undefined => {
  const numbers = codedFamilies.get(family)?.values
  if (!numbers) return `there is no family ${family}`
  const unknown = Object.keys(own).find((code) => !Object.hasOwn(numbers, code))
  if (unknown !== undefined) return `${family} has no ${unknown}`
  const all = Object.values({ ...numbers, ...own })
  return new Set(all).size < all.length ? `two codes of ${family} share a number` : undefined
}

export const codedValueErrors = ({ codedValues }: Settings): string[] =>
  Object.entries(codedValues)
    .map(([family, own]) => errorOf(family, own))
    .filter((fault) => fault !== undefined)
    .map((fault) => `codedValues: ${fault}`)
