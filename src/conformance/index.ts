/*
 * Checks a running deployment against the contract: sends requests that the policy of each operation must refuse, and
 * compares status and code. Start reading with `checks.ts`.
 */
import { type ChainId, chains, type Operation } from '../kernel/index.ts'
import { type Check, checks } from './checks.ts'
import { probe, type Target } from './probe.ts'

export type { Target } from './probe.ts'

/** An unexpected response. */
export interface Finding {
  operationId: string
  chainId: ChainId
  expected: string
  got: string
}

export interface Result {
  check: string
  requests: number
  /** Requests rejected by a rate limit of the target. */
  limited: number
  findings: Finding[]
}

/** All requests must be refused, so they change nothing. */
export async function checkDeployment(
  target: Target,
  operations: readonly Operation[],
  onProgress: (done: number, all: number) => void,
): Promise<Result[]> {
  const endpoints = operations.flatMap((operation) => operation.chains.map((chainId) => ({ operation, chainId })))
  const plan = checks.map((check) => ({
    check,
    endpoints: endpoints.filter(
      ({ operation, chainId }) => isReachable(target, chainId) && check.applies(operation, chainId),
    ),
  }))
  const all = plan.reduce((sum, each) => sum + each.endpoints.length, 0)
  let done = 0
  const results: Result[] = []
  for (const { check, endpoints: checked } of plan) {
    const findings: Finding[] = []
    let limited = 0
    for (const endpoint of checked) {
      const outcome = await runCheck(target, check, endpoint)
      if (outcome === 'limited') limited += 1
      else if (outcome !== 'ok') findings.push(outcome)
      done += 1
      onProgress(done, all)
    }
    results.push({ check: check.name, requests: checked.length, limited, findings })
  }
  return results
}

function isReachable({ accessCodes }: Target, chainId: ChainId): boolean {
  const { portal, perimeter } = chains[chainId]
  if (perimeter !== 'portal') return true
  return accessCodes[portal === 'SYSTEM' ? 'SYSTEM' : 'CONSUMER'] !== undefined
}

interface Endpoint {
  operation: Operation
  chainId: ChainId
}

async function runCheck(
  target: Target,
  check: Check,
  { operation, chainId }: Endpoint,
): Promise<Finding | 'ok' | 'limited'> {
  const got = await probe(target, operation, chainId, check.change)
  if (!got) return 'limited'
  const isExpected = got.status === check.status && (check.code === null || got.code === check.code) && got.isEnvelope
  if (isExpected) return 'ok'
  const actual = got.isEnvelope ? `${got.status} ${got.code}` : `${got.status} and no envelope`
  return { operationId: operation.id, chainId, expected: `${check.status} ${check.code ?? ''}`.trim(), got: actual }
}
