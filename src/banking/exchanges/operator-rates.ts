import type { DomainPorts } from '../../api/domain.ts'
import type { Tx } from '../../database/index.ts'
import { type AccountId, addMs, conflict, days, type Instant, invalid, notFound } from '../../kernel/index.ts'
import type { Ledger } from '../../ledger/index.ts'
import { type AuditContext, recordSuccess } from '../../platform/audit/index.ts'
import { type Pair, type PairRate, toRatio } from '../../platform/exchange-rates.ts'
import {
  deleteProposal,
  endRate,
  lockRates,
  readLastMove,
  readSetRate,
  saveProposal,
  saveRate,
  takeProposal,
} from './rate-store.ts'
import {
  type CurrentRate,
  findSourceRate,
  type RateInForce,
  type RateSources,
  ratesInForce,
  readRate,
  unsupportedSide,
} from './rates.ts'
import { type ExchangeTerms, isWithinBand, maxTriangleGain, type OperatorRateTerms } from './rules.ts'
import { exceedsBand, hasGain, isSamePair } from './table.ts'

export interface OperatorRatesPorts extends RateSources {
  transaction: DomainPorts['transaction']
  /** Checks the four-eyes rule. */
  ledger: Ledger
  terms: ExchangeTerms
  operatorRates: OperatorRateTerms
}

/** One operator could otherwise move a rate to and fro, and a stranger gain each time. */
const moveIntervalMs = days(1)

/**
 * The rate applies to new quotes until it expires or is unset. A rate that `needOfConfirmation` names does not apply
 * until another operator confirms it.
 */
export async function setExchangeRate(
  ports: OperatorRatesPorts,
  input: PairRate,
  auditContext: AuditContext,
): Promise<CurrentRate> {
  assertSupported(ports, input)
  const { accountId, at } = auditContext
  const expiresAt = addMs(at, ports.operatorRates.ttlMs)
  await ports.transaction(async (tx) => {
    await lockRates(tx)
    const reason = await needOfConfirmation(ports, tx, input, at)
    if (reason === null) {
      await saveRate(tx, { ...input, updatedBy: accountId, confirmedBy: null, updatedAt: at, expiresAt })
      await deleteProposal(tx, input)
    } else await saveProposal(tx, { ...input, proposedBy: accountId, proposedAt: at, expiresAt })
    const detail = { rate: input.rate, ...(reason ? { status: 'PENDING', reason } : { status: 'IN_FORCE' }) }
    await recordSuccess(tx, auditContext, { workspaceId: null, targetId: targetOf(input), detail })
  })
  return readRate(ports, input)
}

/**
 * Throws STATE.CONFLICT unless exactly this rate is proposed, and ACCESS.PERMISSION_DENIED for the person who proposed
 * it.
 */
export async function confirmExchangeRate(
  ports: OperatorRatesPorts,
  input: PairRate,
  auditContext: AuditContext,
): Promise<CurrentRate> {
  assertSupported(ports, input)
  const { accountId, at } = auditContext
  await ports.transaction(async (tx) => {
    await lockRates(tx)
    const proposedBy = await takeProposal(tx, input, at)
    if (proposedBy === undefined) throw conflict('this rate is not proposed')
    await ports.ledger.within(tx).assertDifferentPerson(proposedBy, accountId)
    const expiresAt = addMs(at, ports.operatorRates.ttlMs)
    await saveRate(tx, { ...input, updatedBy: proposedBy, confirmedBy: accountId, updatedAt: at, expiresAt })
    const detail = { rate: input.rate, proposedBy }
    await recordSuccess(tx, auditContext, { workspaceId: null, targetId: targetOf(input), detail })
  })
  return readRate(ports, input)
}

/**
 * The rate of the provider or the configuration then applies. Throws ACCESS.PERMISSION_DENIED for a person who set or
 * confirmed the rate within a day: the change needs a second operator.
 */
export async function unsetExchangeRate(
  ports: OperatorRatesPorts,
  pair: Pair,
  auditContext: AuditContext,
): Promise<CurrentRate> {
  assertSupported(ports, pair)
  const { accountId, at } = auditContext
  await ports.transaction(async (tx) => {
    await lockRates(tx)
    const [set, proposal] = [await readSetRate(tx, pair, at), await deleteProposal(tx, pair)]
    if (!set && !proposal) throw notFound('no operator has set or proposed a rate for the pair')
    if (set) {
      const operators: (AccountId | null)[] = (await needsOtherPerson(ports, tx, pair, at))
        ? [set.updatedBy, set.confirmedBy]
        : []
      for (const operator of operators)
        if (operator !== null) await ports.ledger.within(tx).assertDifferentPerson(operator, accountId)
      await endRate(tx, pair, { by: accountId, at })
    }
    const detail = { rate: set !== undefined, proposal }
    await recordSuccess(tx, auditContext, { workspaceId: null, targetId: targetOf(pair), detail })
  })
  return readRate(ports, pair)
}

export interface RateGains {
  /** The largest gain of exchanging through three currencies. See `maxTriangleGain`. */
  triangle: number | null
  /** Number of pairs that are not quoted, because a cycle gains. */
  unquotedPairs: number
}

export async function readGains(ports: RateSources & { terms: ExchangeTerms }): Promise<RateGains> {
  const rates = await ratesInForce(ports)
  return { triangle: maxTriangleGain(rates, ports.terms), unquotedPairs: ports.findGainingPairs(rates).size }
}

function assertSupported(ports: RateSources, pair: Pair): void {
  const side = unsupportedSide(ports, pair)
  if (side) throw invalid(`${side}Currency`, 'not a currency of this deployment')
}

type NeedOfConfirmation = 'OUTSIDE_BAND' | 'MOVED_WITHIN_DAY' | 'CYCLE_GAINS'

/** Returns why the rate needs a second operator, or null. Judges the table as it would be. */
async function needOfConfirmation(
  ports: OperatorRatesPorts,
  tx: Tx,
  set: PairRate,
  at: Instant,
): Promise<NeedOfConfirmation | null> {
  const { terms } = ports
  const { band } = ports.operatorRates
  const before = await ratesInForce({ ...ports, database: tx })
  const others = before.filter((rate) => !isSamePair(rate, set))
  const after = [...others, set]
  if (band === null) return hasGain(after, terms) ? 'CYCLE_GAINS' : null
  const source = findSourceRate(ports, set)
  if (!source || !isWithinBand(toRatio(set, set.source), toRatio(source, set.source), band)) return 'OUTSIDE_BAND'
  const isRenewed = before.some((rate) => isSamePair(rate, set) && rate.source === set.source && rate.rate === set.rate)
  if (!isRenewed && (await movedWithinInterval(tx, set, at))) return 'MOVED_WITHIN_DAY'
  if (hasGain(after, terms)) return 'CYCLE_GAINS'
  return exceedsBand(after, [...confirmedRates(ports, others), source], terms, band) ? 'OUTSIDE_BAND' : null
}

async function movedWithinInterval(tx: Tx, pair: Pair, at: Instant): Promise<boolean> {
  const movedAt = await readLastMove(tx, pair)
  return movedAt !== undefined && at < addMs(movedAt, moveIntervalMs)
}

/** Rates that one operator set count as the source's. */
function confirmedRates(ports: RateSources, rates: readonly RateInForce[]): RateInForce[] {
  return rates.flatMap((rate) =>
    rate.updatedBy === null || rate.confirmedBy !== null ? [rate] : (findSourceRate(ports, rate) ?? []),
  )
}

function targetOf({ source, target }: Pair): string {
  return `${source}/${target}`
}

/** Whether the rate was moved within a day, or a cycle gains without it. */
async function needsOtherPerson(ports: OperatorRatesPorts, tx: Tx, pair: Pair, at: Instant): Promise<boolean> {
  if (ports.operatorRates.band !== null && (await movedWithinInterval(tx, pair, at))) return true
  const rates = await ratesInForce({ ...ports, database: tx })
  const source = findSourceRate(ports, pair)
  return hasGain([...rates.filter((rate) => !isSamePair(rate, pair)), ...(source ? [source] : [])], ports.terms)
}
