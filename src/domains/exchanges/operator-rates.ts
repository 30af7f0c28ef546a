import type { DomainPorts } from '../../api/domain.ts'
import { addMs, invalid, notFound, Refusal } from '../../kernel/index.ts'
import type { Ledger } from '../../ledger/index.ts'
import { type AuditContext, recordSuccess } from '../../platform/audit/index.ts'
import {
  deleteProposal,
  deleteRate,
  type Pair,
  type PairRate,
  saveProposal,
  saveRate,
  takeProposal,
} from './rate-store.ts'
import {
  type CurrentRate,
  findSourceRate,
  listRates,
  type RateSources,
  readRate,
  toRatio,
  unsupportedSide,
} from './rates.ts'
import { type ExchangeTerms, isWithinBand, maxTriangleGain, type OperatorRateTerms } from './rules.ts'

export interface OperatorRatesPorts extends RateSources {
  transaction: DomainPorts['transaction']
  /** Checks the four-eyes rule. */
  ledger: Ledger
  operatorRates: OperatorRateTerms
}

const assertSupported = (ports: RateSources, pair: Pair): void => {
  const side = unsupportedSide(ports, pair)
  if (side) throw invalid(`${side}Currency`, 'not a currency of this deployment')
}

/** A pair without a rate of the source needs a second operator, too. */
const needsNoConfirmation = (ports: OperatorRatesPorts, set: PairRate): boolean => {
  const { band } = ports.operatorRates
  if (band === null) return true
  const source = findSourceRate(ports, set)
  return source !== undefined && isWithinBand(toRatio(set, set.source), toRatio(source, set.source), band)
}

const targetOf = ({ source, target }: Pair): string => `${source}/${target}`

/**
 * The rate applies to new quotes until it expires or is unset. A rate outside the band does not apply until another
 * operator confirms it.
 */
export const setExchangeRate = async (
  ports: OperatorRatesPorts,
  input: PairRate,
  auditContext: AuditContext,
): Promise<CurrentRate> => {
  assertSupported(ports, input)
  const { accountId, at } = auditContext
  const expiresAt = addMs(at, ports.operatorRates.ttlMs)
  const applies = needsNoConfirmation(ports, input)
  await ports.transaction(async (tx) => {
    if (applies) {
      await saveRate(tx, { ...input, updatedBy: accountId, confirmedBy: null, updatedAt: at, expiresAt })
      await deleteProposal(tx, input)
    } else await saveProposal(tx, { ...input, proposedBy: accountId, proposedAt: at, expiresAt })
    const detail = { rate: input.rate, status: applies ? 'IN_FORCE' : 'PENDING' }
    await recordSuccess(tx, auditContext, { workspaceId: null, targetId: targetOf(input), detail })
  })
  return readRate(ports, input)
}

/**
 * Throws STATE.CONFLICT unless exactly this rate is proposed, and ACCESS.PERMISSION_DENIED for the person who proposed
 * it.
 */
export const confirmExchangeRate = async (
  ports: OperatorRatesPorts,
  input: PairRate,
  auditContext: AuditContext,
): Promise<CurrentRate> => {
  assertSupported(ports, input)
  const { accountId, at } = auditContext
  await ports.transaction(async (tx) => {
    const proposedBy = await takeProposal(tx, input, at)
    if (proposedBy === undefined) throw new Refusal('STATE.CONFLICT', { internal: 'this rate is not proposed' })
    await ports.ledger.within(tx).assertDifferentPerson(proposedBy, accountId)
    const expiresAt = addMs(at, ports.operatorRates.ttlMs)
    await saveRate(tx, { ...input, updatedBy: proposedBy, confirmedBy: accountId, updatedAt: at, expiresAt })
    const detail = { rate: input.rate, proposedBy }
    await recordSuccess(tx, auditContext, { workspaceId: null, targetId: targetOf(input), detail })
  })
  return readRate(ports, input)
}

/** The rate of the provider or the configuration then applies. */
export const unsetExchangeRate = async (
  ports: OperatorRatesPorts,
  pair: Pair,
  auditContext: AuditContext,
): Promise<CurrentRate> => {
  assertSupported(ports, pair)
  await ports.transaction(async (tx) => {
    const [rate, proposal] = [await deleteRate(tx, pair), await deleteProposal(tx, pair)]
    if (!rate && !proposal) throw notFound('no operator has set or proposed a rate for the pair')
    const detail = { rate, proposal }
    await recordSuccess(tx, auditContext, { workspaceId: null, targetId: targetOf(pair), detail })
  })
  return readRate(ports, pair)
}

/** Returns the largest gain of exchanging through three currencies at the current rates. See `maxTriangleGain`. */
export const readTriangleGain = async (
  ports: RateSources & { terms: Pick<ExchangeTerms, 'spread' | 'feeRate'> },
): Promise<number | null> => {
  const current = await listRates(ports)
  return maxTriangleGain(
    current.flatMap(({ inForce }) => inForce ?? []),
    ports.terms,
  )
}
