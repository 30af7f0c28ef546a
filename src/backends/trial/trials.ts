import { type Configuration, placeOf, trialOf, type UpstreamConfiguration } from '../../config/index.ts'
import { type Instant, toIso } from '../../kernel/index.ts'
import type { Backend } from '../backend.ts'
import type { Canary } from './canary.ts'
import type { Shadow } from './copies.ts'
import type { ShadowPorts } from './shadow.ts'
import type { TrialBook } from './trial-book.ts'

/** The services that a domain tries besides its backend. */
export interface Trial {
  /** The name of the backend in records of commands. */
  place: string
  canary: { state: Canary; backend: Backend; place: string } | null
  shadow: Shadow | null
}

/** The state of one entry of `backends` in this process. */
export interface TrialState {
  domains: string[]
  /** `in-process`, or the URL of a service. */
  backend: string
  canary: {
    url: string
    isReturned: boolean
    share: number
    /** Number of named accounts and workspaces. */
    named: number
    requests: number
    failures: number
  } | null
  shadow: {
    url: string
    share: number
    differences: {
      operation: string
      kind: string
      path: string
      count: number
      firstAt: string
      lastAt: string
    }[]
  } | null
}

export interface Trials {
  of(domain: string): Trial | null
  close(): Promise<void>
}

export interface TrialsPorts extends Omit<ShadowPorts, 'assertionOf' | 'differences'> {
  book: TrialBook
  assertionFor(audience: string): ShadowPorts['assertionOf']
  upstreamFor(service: UpstreamConfiguration): Promise<Backend>
}

type Settings = Pick<Configuration, 'backends'>

/** Domains with equal settings share a shadow. */
export async function openTrials(
  settings: Settings,
  domains: readonly string[],
  { book, assertionFor, upstreamFor, ...ports }: TrialsPorts,
): Promise<Trials> {
  const shadows = new Map<string, Shadow>()
  const byDomain = new Map<string, Trial>()
  for (const domain of domains) {
    const { canary, shadow } = trialOf(settings, domain)
    if (!canary && !shadow) continue
    const place = placeName(settings, domain)
    const key = JSON.stringify(shadow)
    if (shadow && !shadows.has(key)) {
      const { createShadow } = await import('./shadow.ts')
      const differences = book.differencesOf(shadow)
      shadows.set(key, createShadow(shadow, { ...ports, assertionOf: assertionFor(shadow.audience), differences }))
    }
    byDomain.set(domain, {
      place,
      canary: canary && {
        state: book.canaryOf(canary),
        backend: await upstreamFor(serviceOf(canary)),
        place: placeKey(canary.url),
      },
      shadow: shadows.get(key) ?? null,
    })
  }
  return {
    of: (domain) => byDomain.get(domain) ?? null,
    close: async () => {
      await Promise.all([...shadows.values()].map((shadow) => shadow.close()))
    },
  }
}

/** Entries with the same settings are one. */
export function trialStates(settings: Settings, domains: readonly string[], book: TrialBook): TrialState[] {
  const byEntry = new Map<string, TrialState>()
  for (const domain of domains) {
    const { canary, shadow } = trialOf(settings, domain)
    if (!canary && !shadow) continue
    const backend = placeName(settings, domain)
    const key = JSON.stringify([backend, canary, shadow])
    const known = byEntry.get(key)
    if (known) {
      known.domains.push(domain)
      continue
    }
    const state = canary && book.canaryOf(canary)
    byEntry.set(key, {
      domains: [domain],
      backend,
      canary: canary &&
        state && {
          url: canary.url,
          isReturned: state.isReturned,
          share: canary.share,
          named: canary.accounts.length + canary.workspaces.length,
          ...state.counts,
        },
      shadow: shadow && {
        url: shadow.url,
        share: shadow.share,
        differences: book.differencesOf(shadow).list().map(toDifferenceState),
      },
    })
  }
  return [...byEntry.values()]
}

function toDifferenceState<D extends { firstAt: Instant; lastAt: Instant }>({ firstAt, lastAt, ...difference }: D) {
  return { ...difference, firstAt: toIso(firstAt), lastAt: toIso(lastAt) }
}

function placeName(settings: Settings, domain: string): string {
  const place = placeOf(settings, domain)
  return place === 'in-process' ? place : placeKey(place.url)
}

/** Without the slash at its end. */
function placeKey(url: string): string {
  return new URL(url).href.replace(/\/$/, '')
}

function serviceOf({
  share: _share,
  sticky: _sticky,
  accounts: _accounts,
  workspaces: _workspaces,
  seed: _seed,
  maxErrorShare: _maxErrorShare,
  minRequests: _minRequests,
  windowMs: _windowMs,
  ...service
}: NonNullable<ReturnType<typeof trialOf>['canary']>): UpstreamConfiguration {
  return service
}
