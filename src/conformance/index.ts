import { catalogue } from '../contract/index.ts'
import { type ChainId, chains, type Operation } from '../kernel/index.ts'
import { type Check, checks } from './checks.ts'
import { probe, type Target } from './probe.ts'

export type { Target } from './probe.ts'

export interface Finding {
  operationId: string
  chainId: ChainId
  expected: string
  got: string
}

export interface Result {
  check: string
  asked: number
  /** Of those, what a limit of the target kept from being judged. */
  limited: number
  findings: Finding[]
}

const reachable = ({ accessCodes }: Target, chainId: ChainId): boolean => {
  const { portal, perimeter } = chains[chainId]
  if (perimeter !== 'portal') return true
  return accessCodes[portal === 'SYSTEM' ? 'SYSTEM' : 'CONSUMER'] !== undefined
}

const run = async (
  target: Target,
  check: Check,
  operation: Operation,
  chainId: ChainId,
): Promise<Finding | 'kept' | 'limited'> => {
  const got = await probe(target, operation, chainId, check.change)
  if (!got) return 'limited'
  const isExpected = got.status === check.status && (check.code === null || got.code === check.code) && got.isEnvelope
  if (isExpected) return 'kept'
  const shown = got.isEnvelope ? `${got.status} ${got.code}` : `${got.status} and no envelope`
  return { operationId: operation.id, chainId, expected: `${check.status} ${check.code ?? ''}`.trim(), got: shown }
}

/** What the contract implies of every operation, asked of a running deployment. Only refusals are provoked: nothing is changed there. */
export const checkDeployment = async (target: Target, told: (done: number, all: number) => void): Promise<Result[]> => {
  const ways = catalogue.flatMap((operation) => operation.chains.map((chainId) => ({ operation, chainId })))
  const asked = checks.map((check) => ({
    check,
    ways: ways.filter(({ operation, chainId }) => reachable(target, chainId) && check.applies(operation, chainId)),
  }))
  const all = asked.reduce((sum, { ways: each }) => sum + each.length, 0)
  let done = 0
  const results: Result[] = []
  for (const { check, ways: each } of asked) {
    const findings: Finding[] = []
    let limited = 0
    for (const { operation, chainId } of each) {
      const found = await run(target, check, operation, chainId)
      if (found === 'limited') limited += 1
      else if (found !== 'kept') findings.push(found)
      done += 1
      told(done, all)
    }
    results.push({ check: check.name, asked: each.length, limited, findings })
  }
  return results
}
