import type { Logger } from 'pino'
import { z } from 'zod'
import {
  areWithin,
  type Clock,
  type Instant,
  invert,
  isCurrency,
  isRate,
  multiplyRatios,
  parseRatio,
  type Ratio,
  toInstant,
} from '../kernel/index.ts'
import { createDependencyLog } from './dependency-log.ts'
import { fetchText, parseJson } from './http-client.ts'

/** A pair has one rate for both directions. */
export interface Pair {
  source: string
  target: string
}

export interface PairRate extends Pair {
  /** Units of target per unit of source, a decimal string. */
  rate: string
}

export interface Rate extends PairRate {
  asOf: Instant
}

/** Returns a rate as a ratio, in units of the other currency per unit of `source`. */
export function toRatio(rate: PairRate, source: string): Ratio {
  const parsed = parseRatio(rate.rate)
  if (!parsed || parsed.numerator === 0n) throw new RangeError(`${rate.rate} is not a rate`)
  return rate.source === source ? parsed : invert(parsed)
}

/**
 * Returns the highest rate: of the pair, or over one other currency. Values that count towards a limit use it, so that no
 * single rate makes an amount cheap.
 */
export function highestRate(rates: readonly PairRate[], { source, target }: Pair): Ratio | undefined {
  const from = (currency: string) =>
    rates.flatMap((rate) => {
      if (rate.source !== currency && rate.target !== currency) return []
      return [{ to: rate.source === currency ? rate.target : rate.source, factor: toRatio(rate, currency) }]
    })
  const found = from(source).flatMap(({ to, factor }) =>
    to === target
      ? [factor]
      : from(to).flatMap((next) => (next.to === target ? [multiplyRatios(factor, next.factor)] : [])),
  )
  return found.reduce<Ratio | undefined>(
    (highest, each) => (highest && !isGreater(each, highest) ? highest : each),
    undefined,
  )
}

/** Mid-market rates, without stale ones. */
export interface Rates {
  list(): readonly Rate[]
  close(): void
}

export function fixedRates(rates: readonly Omit<Rate, 'asOf'>[], clock: Clock): Rates {
  const asOf = clock.now()
  const table = rates.map((rate) => ({ ...rate, asOf }))
  return { list: () => table, close: () => undefined }
}

/** Times are in milliseconds. */
export interface ProviderSettings {
  url: string
  refreshMs: number
  staleAfterMs: number
  /** Default: far below the usual `refreshMs`. The last rates stay in use meanwhile. */
  timeoutMs?: number
}

/**
 * Such as `{"asOf": ISO 8601, "rates": {"USD/EUR": "0.9215"}}`. Rates are strings, because JSON numbers are not exact.
 */
const RateResponse = z.object({
  asOf: z.iso.datetime({ offset: true }),
  rates: z.record(z.string(), z.string().refine(isRate)),
})

/** In bytes. All pairs of our currencies take a few hundred. */
const maxResponseBytes = 1_000_000

/** Fetches rates at startup and then at intervals. If the service fails, the last rates apply until they are stale. */
export async function openRateProvider(
  settings: ProviderSettings,
  clock: Clock,
  logger: Pick<Logger, 'warn' | 'info'>,
): Promise<Rates> {
  const dependencies = createDependencyLog(logger, clock)
  let known: Rate[] = []
  let isFetching = false
  /** A late response must not replace a newer one. */
  const refresh = async (): Promise<void> => {
    if (isFetching) return
    isFetching = true
    try {
      known = await fetchRates(settings, clock)
      dependencies.works('exchange rates')
    } catch (error) {
      dependencies.failed('exchange rates', error)
    }
    isFetching = false
  }
  await refresh()
  const timer = setInterval(() => void refresh(), settings.refreshMs)
  timer.unref()
  const isFresh = ({ asOf }: Rate): boolean => areWithin(settings.staleAfterMs, asOf, clock.now())
  return { list: () => known.filter(isFresh), close: () => clearInterval(timer) }
}

function isGreater(a: Ratio, b: Ratio): boolean {
  return a.numerator * b.denominator > b.numerator * a.denominator
}

/**
 * Rejects if any rate is invalid. An `asOf` in the future counts as now. If a pair is listed in both directions, only
 * the first rate is used.
 */
async function fetchRates({ url, timeoutMs = 5_000 }: ProviderSettings, clock: Clock): Promise<Rate[]> {
  const { ok, status, text } = await fetchText(url, { timeoutMs, maxBytes: maxResponseBytes })
  if (!ok) throw new Error(`the rate provider returned status ${status}`)
  const response = RateResponse.parse(parseJson(text))
  const asOf = toInstant(Math.min(Date.parse(response.asOf), clock.now()))
  const rates = new Map<string, Rate>()
  for (const [pair, rate] of Object.entries(response.rates)) {
    const [source = '', target = ''] = pair.split('/')
    if (!isCurrency(source) || !isCurrency(target) || source === target || rates.has(`${target}/${source}`)) continue
    rates.set(`${source}/${target}`, { source, target, rate, asOf })
  }
  return [...rates.values()]
}
