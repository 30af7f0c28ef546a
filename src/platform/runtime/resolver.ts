import dns, { type LookupAddress, type LookupOptions } from 'node:dns'
import { syncBuiltinESMExports } from 'node:module'
import { isIP, type LookupFunction } from 'node:net'
import { promisify } from 'node:util'
import { LRUCache } from 'lru-cache'
import { createConcurrencyLimiter, errorCode, type RunLimited } from '../../kernel/index.ts'
import { waitFor } from './system.ts'

/** Only new connections look up a name, so this is short. getaddrinfo does not return the TTL of the record. */
const ttlMs = 5_000
/** Delay after a failure until the next look-up. */
const failureTtlMs = 1_000
/** An old address replaces a look-up that takes longer, and a failed one, for up to `maxStaleMs` (RFC 8767). */
const patienceMs = 200
const maxStaleMs = 600_000
/** Without an old address, callers fail after this time. */
const deadlineMs = 2_000
/** More names than a configuration contains. */
const maxNames = 1_000

/*
 * getaddrinfo blocks one of libuv's four threads for as long as the name server is silent, often more than a minute.
 * Other names, files and password hashes need these threads, too.
 */
/** For names that have not resolved yet, or were slow. */
const uncertainLookups = 2
/** For names that have resolved quickly, which then never wait for uncertain ones. */
const provenLookups = 1

/** Resolves with all addresses, in the order of preference. */
export type SystemLookup = (name: string) => Promise<readonly LookupAddress[]>

interface Entry {
  addresses: readonly LookupAddress[]
  resolvedAt: number
  error: Error | null
  failedAt: number
  isSlow: boolean
  lookup: { startedAt: number; done: Promise<void> } | null
  turns: number
}

/** Looks up each name at most once at a time, and caches addresses and failures. */
export class Resolver {
  readonly #systemLookup: SystemLookup
  readonly #entries = new LRUCache<string, Entry>({ max: maxNames })
  readonly #runUncertain: RunLimited
  readonly #runProven: RunLimited

  constructor(systemLookup: SystemLookup) {
    this.#systemLookup = systemLookup
    // Each name waits at most once, so `maxNames` limits the queues.
    const waiting = Number.POSITIVE_INFINITY
    this.#runUncertain = createConcurrencyLimiter({ concurrency: uncertainLookups, waiting }).runLimited
    this.#runProven = createConcurrencyLimiter({ concurrency: provenLookups, waiting }).runLimited
  }

  /** For net.connect and everything that is built on it. */
  readonly lookup: LookupFunction = (name, options, done) => {
    this.#resolve(name).then(
      ({ addresses }) => reply(name, addresses, options, done),
      (error) => done(error, []),
    )
  }

  /** Each call starts with the next address, so that connections spread over the replicas of a service. */
  readonly lookupInTurn: LookupFunction = (name, options, done) => {
    this.#resolve(name).then(
      (entry) => {
        const turn = entry.turns++
        const families = [4, 6].map((family) => entry.addresses.filter((address) => address.family === family))
        if (entry.addresses[0]?.family === 6) families.reverse()
        const rotated = families.flatMap((addresses) => rotate(addresses, turn))
        reply(name, rotated, options, done)
      },
      (error) => done(error, []),
    )
  }

  async #resolve(name: string): Promise<Entry> {
    const entry = this.#entries.get(name) ?? newEntry()
    this.#entries.set(name, entry)
    const now = performance.now()
    if (now - entry.resolvedAt < ttlMs) return entry
    const isStaleUsable = entry.addresses.length > 0 && now - entry.resolvedAt < maxStaleMs
    if (now - entry.failedAt >= failureTtlMs) {
      entry.lookup ??= { startedAt: now, done: this.#refresh(name, entry) }
      const limitMs = isStaleUsable ? patienceMs : deadlineMs
      await waitFor(entry.lookup.done, entry.lookup.startedAt + limitMs - now)
    }
    // An address that the failed look-up has removed is not usable any more.
    if (entry.addresses.length > 0 && performance.now() - entry.resolvedAt < maxStaleMs) return entry
    throw (entry.lookup ? null : entry.error) ?? lookupError(name)
  }

  /** Never rejects. */
  async #refresh(name: string, entry: Entry): Promise<void> {
    const run = entry.addresses.length > 0 && !entry.isSlow ? this.#runProven : this.#runUncertain
    let startedAt = performance.now()
    try {
      entry.addresses = await run(() => {
        startedAt = performance.now()
        return this.#systemLookup(name)
      })
      entry.resolvedAt = performance.now()
      entry.error = null
    } catch (error) {
      entry.error = error instanceof Error ? error : lookupError(name)
      entry.failedAt = performance.now()
      // The name does not exist any more, and another host may already have its address.
      if (errorCode(error) === 'ENOTFOUND') entry.addresses = []
    } finally {
      entry.isSlow = performance.now() - startedAt > patienceMs
      entry.lookup = null
    }
  }
}

/**
 * One resolver for all outgoing connections, because libuv's threads belong to the process. dns.lookup, unlike
 * dns.resolve, reads /etc/hosts and the search domains.
 */
export const { lookup, lookupInTurn } = new Resolver(async (name) => await dns.promises.lookup(name, { all: true }))

/** Time of one query to a name server, and the number of queries. */
const queries = { timeout: 2_000, tries: 2 }

/**
 * Asks name servers directly, for names that strangers choose: it occupies no thread of libuv, and knows neither /etc/hosts
 * nor search domains. Resolves with no address if there is none. Never rejects.
 */
export async function lookupPublic(name: string): Promise<LookupAddress[]> {
  const resolver = new dns.promises.Resolver(queries)
  const [four, six] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
  const toAddresses = (found: typeof four, family: 4 | 6) =>
    found.status === 'fulfilled' ? found.value.map((address) => ({ address, family })) : []
  return [...toAddresses(four, 4), ...toAddresses(six, 6)]
}

const nodeLookup = dns.lookup

/** Node then uses the resolver for libraries and extensions, too. AWS credentials and ioredis’ subscriber accept none. */
export function shareResolver(): void {
  Object.assign(dns, { lookup: Object.assign(sharedLookup, { [promisify.custom]: promiseLookup }) })
  syncBuiltinESMExports()
}

function reply(
  name: string,
  addresses: readonly LookupAddress[],
  { all, family: wanted }: LookupOptions,
  done: Parameters<LookupFunction>[2],
): void {
  const family = wanted === 'IPv4' ? 4 : wanted === 'IPv6' ? 6 : (wanted ?? 0)
  const matching = addresses.filter((address) => family === 0 || address.family === family)
  const [first] = matching
  if (!first) done(Object.assign(lookupError(name), { code: 'ENOTFOUND' }), [])
  else if (all) done(null, matching)
  else done(null, first.address, first.family)
}

function lookupError(name: string): Error {
  return Object.assign(new Error(`no address of ${name} within ${deadlineMs} ms`), {
    code: 'EAI_AGAIN',
    hostname: name,
  })
}

function rotate(addresses: readonly LookupAddress[], turn: number): LookupAddress[] {
  const at = turn % Math.max(1, addresses.length)
  return [...addresses.slice(at), ...addresses.slice(0, at)]
}

function newEntry(): Entry {
  return {
    addresses: [],
    resolvedAt: Number.NEGATIVE_INFINITY,
    error: null,
    failedAt: Number.NEGATIVE_INFINITY,
    isSlow: false,
    lookup: null,
    turns: 0,
  }
}

type Done = Parameters<LookupFunction>[2]

function sharedLookup(name: string, options: LookupOptions | number | null | Done, last?: Done): unknown {
  const done = typeof options === 'function' ? options : last
  if (!done || !name || isIP(name) !== 0) return Reflect.apply(nodeLookup, dns, [name, options, last])
  if (typeof options === 'number') return lookup(name, { family: options }, done)
  return lookup(name, typeof options === 'object' && options ? options : {}, done)
}

function promiseLookup(name: string, options: LookupOptions | number | null = null): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const done: Done = (error, address, family) =>
      error ? reject(error) : resolve(typeof address === 'string' ? { address, family } : address)
    sharedLookup(name, options, done)
  })
}
