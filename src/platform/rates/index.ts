import { z } from 'zod'
import { areWithin, type Clock, type Instant, isCurrency, isRate, toInstant } from '../../kernel/index.ts'
import { ask, jsonIn } from '../system/index.ts'

export interface Rate {
  source: string
  target: string
  /** Units of target for one of source, a decimal string. */
  rate: string
  asOf: Instant
}

/** Middle rates as they are known now; what is too old is not among them. */
export interface Rates {
  list(): readonly Rate[]
  close(): void
}

/** The configuration's own table, good for as long as the process runs. */
export const tableRates = (rates: readonly Omit<Rate, 'asOf'>[], clock: Clock): Rates => {
  const asOf = clock.now()
  const table = rates.map((rate) => ({ ...rate, asOf }))
  return { list: () => table, close: () => undefined }
}

export interface ProviderSettings {
  url: string
  refreshMs: number
  staleAfterMs: number
  timeoutMs: number
}

/** `{"asOf": ISO 8601, "rates": {"USD/EUR": "0.9215"}}`; texts, because JSON's numbers are not exact. */
const Told = z.object({
  asOf: z.iso.datetime({ offset: true }),
  rates: z.record(z.string(), z.string().refine(isRate)),
})

/** Bytes; the pairs of our currencies take some hundred. */
const longestAnswer = 1_000_000

/**
 * One rate that is none spoils the whole answer. What claims to be of the future is as old as its answer. Of a pair that is told
 * both ways the first is its rate, and the inverse of that the other way.
 */
const read = async ({ url, timeoutMs }: ProviderSettings, clock: Clock): Promise<Rate[]> => {
  const { ok, status, text } = await ask(url, { timeoutMs, longestAnswer })
  if (!ok) throw new Error(`the rate provider answered ${status}`)
  const told = Told.parse(jsonIn(text))
  const asOf = toInstant(Math.min(Date.parse(told.asOf), clock.now()))
  const rates = new Map<string, Rate>()
  for (const [pair, rate] of Object.entries(told.rates)) {
    const [source = '', target = ''] = pair.split('/')
    if (!isCurrency(source) || !isCurrency(target) || source === target || rates.has(`${target}/${source}`)) continue
    rates.set(`${source}/${target}`, { source, target, rate, asOf })
  }
  return [...rates.values()]
}

/**
 * Rates of an HTTP service, fetched again and again in the background. While it does not answer, the last ones serve until
 * they are stale; then there are none, and nothing is quoted.
 */
export const providedRates = async (
  settings: ProviderSettings,
  clock: Clock,
  onFault: (error: unknown) => void,
): Promise<Rates> => {
  let known: Rate[] = []
  let isAsking = false
  /** One question at a time: the answer to an older one, come late, would stand in place of a newer. */
  const refresh = async (): Promise<void> => {
    if (isAsking) return
    isAsking = true
    try {
      known = await read(settings, clock)
    } catch (error) {
      onFault(error)
    }
    isAsking = false
  }
  await refresh()
  const timer = setInterval(() => void refresh(), settings.refreshMs)
  timer.unref()
  const isFresh = ({ asOf }: Rate): boolean => areWithin(settings.staleAfterMs, asOf, clock.now())
  return { list: () => known.filter(isFresh), close: () => clearInterval(timer) }
}
