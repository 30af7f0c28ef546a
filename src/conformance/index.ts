/*
 * Checks a running deployment against the contract: sends requests that the policy of each operation must refuse, and
 * compares status and code. Start reading with `checks.ts`.
 */
import { droppedKey, isKeyRead, isReplaced, replacedId } from '../client/headers.ts'
import {
  type Chain,
  type ChainId,
  chainsWith,
  type Operation,
  portalOfChain,
  type ServedChain,
} from '../kernel/index.ts'
import { type Check, checksFor } from './checks.ts'
import { type ProbeResult, probe, type Target } from './probe.ts'

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
  // Replies of SCIM have no envelope.
  const checked = operations.filter(({ protocol }) => protocol === undefined)
  const served = chainsWith(target.additional ?? [])
  const endpoints = checked.flatMap((operation) =>
    served
      .filter(({ chainId, chain }) => operation.chains.includes(chainId) && isOffered(target, chain, operation))
      .map((each) => ({ operation, ...each })),
  )
  const checks = checksFor((target.additional ?? []).map(({ portal }) => portal))
  const applicable = checks.filter(({ withoutEdge }) => target.edgeHeaders || !withoutEdge)
  const plan = applicable.map((check) => ({
    check,
    endpoints: endpoints.filter(
      ({ operation, chainId, chain }) => isReachable(target, chain) && check.applies(operation, chainId),
    ),
  }))
  const all = plan.reduce((sum, each) => sum + each.endpoints.length, 0)
  let done = 0
  const results: Result[] = []
  const ids: Result = { check: 'X-Request-Id reaches the gateway', requests: 0, limited: 0, findings: [] }
  for (const { check, endpoints: checked } of plan) {
    const findings: Finding[] = []
    let limited = 0
    for (const endpoint of checked) {
      const got = await probe(target, endpoint.operation, endpoint, check.change)
      const finding = got && findProblem(check, endpoint, got)
      if (!got) limited += 1
      else checkRequestId(ids, check, endpoint, got)
      if (finding) findings.push(finding)
      done += 1
      onProgress(done, all)
    }
    results.push({ check: check.name, requests: checked.length, limited, findings })
  }
  return [...results, ids]
}

function isReachable({ accessCodes }: Target, chain: Chain): boolean {
  return chain.perimeter !== 'portal' || accessCodes[portalOfChain(chain) ?? 'CONSUMER'] !== undefined
}

/** The portals of every deployment offer all operations. */
function isOffered({ additional = [] }: Target, chain: Chain, operation: Operation): boolean {
  return additional.find(({ portal }) => portal === chain.portal)?.offers(operation) ?? true
}

interface Endpoint extends ServedChain {
  operation: Operation
}

function findProblem(check: Check, { operation, chainId }: Endpoint, got: ProbeResult): Finding | null {
  const at = { operationId: operation.id, chainId }
  const isExpected = got.status === check.status && (check.code === null || got.code === check.code) && got.isEnvelope
  if (!isExpected) {
    const actual = got.isEnvelope ? `${got.status} ${got.code}` : `${got.status} and no envelope`
    return { ...at, expected: `${check.status} ${check.code ?? ''}`.trim(), got: actual }
  }
  if (!check.repeatsKey || isKeyRead(got.sent, got.response)) return null
  return { ...at, expected: 'the same Idempotency-Key', got: droppedKey }
}

/** The gateway replaces a malformed id, and a response without the header is not from the gateway. */
function checkRequestId(ids: Result, { change }: Check, { operation, chainId }: Endpoint, got: ProbeResult): void {
  if ('x-request-id' in change || !got.response.headers.has('x-request-id')) return
  ids.requests += 1
  if (isReplaced(got.sent, got.response))
    ids.findings.push({ operationId: operation.id, chainId, expected: 'the same X-Request-Id', got: replacedId })
}
