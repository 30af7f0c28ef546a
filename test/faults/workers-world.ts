import { Agent, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { vi } from 'vitest'
import { requiredHeaders } from '../harness/http.ts'
import type { PorticoProcess } from '../harness/process.ts'

/** A GET request. */
export interface Read {
  path: string
  headers: Record<string, string>
}

/** Needs no session. */
function anonymousRead(): Read {
  return { path: '/web/v1/consumer/constants/timezones', headers: requiredHeaders() }
}

interface Readiness {
  status: string
  workers: Record<string, { status: string; reasons?: Record<string, string> }>
}

export async function readiness({ operationsUrl }: PorticoProcess): Promise<Readiness> {
  return (await fetch(`${operationsUrl}/health/ready`)).json()
}

/** Also in the setup of a suite. */
export async function untilReady(gateway: PorticoProcess, count = 2): Promise<void> {
  const numbers = Array.from({ length: count }, (_, index) => index + 1)
  const isReady = async () => {
    const { workers } = await readiness(gateway)
    // The log is written later.
    return numbers.every((worker) => workers[worker]?.status === 'ready' && pidOf(gateway, worker) > 0)
  }
  await vi.waitUntil(isReady, { timeout: 60_000, interval: 100 })
}

export function linesOf(gateway: PorticoProcess): Record<string, unknown>[] {
  return gateway
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
}

/** Of the process that serves now. */
export function pidOf(gateway: PorticoProcess, worker: number): number {
  const last = linesOf(gateway).findLast((line) => line.msg === 'worker serves' && line.worker === worker)
  return Number(last?.workerPid)
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

export interface Outcome {
  status: number
  /** Whether the connection was open before the request. */
  isReused: boolean
}

/** Status 0 means no response. */
export function get(url: string, agent: Agent | false = false, read: Read = anonymousRead()): Promise<Outcome> {
  return new Promise((resolve) => {
    const sent = request(url + read.path, { agent, headers: read.headers }, (response) => {
      response
        .resume()
        .on('close', () =>
          resolve({ status: response.complete ? (response.statusCode ?? 0) : 0, isReused: sent.reusedSocket }),
        )
    })
    sent.on('error', () => resolve({ status: 0, isReused: sent.reusedSocket })).end()
  })
}

export const connections = 16

export interface Readers {
  outcomes: Outcome[]
  /** The number of requests that have had no response for this time. */
  waiting(milliseconds: number): number
  stop(): Promise<Outcome[]>
}

/** Clients with persistent connections. Each one sends a request after the response, at most one per `intervalMs`. */
export function readers(url: string, { count = connections, intervalMs = 0, read = anonymousRead } = {}): Readers {
  const agent = new Agent({ keepAlive: true, maxSockets: count })
  const outcomes: Outcome[] = []
  /** When the open requests were sent. */
  const open = new Map<number, number>()
  let isStopped = false
  const work = async (_: unknown, client: number) => {
    while (!isStopped) {
      open.set(client, performance.now())
      const due = intervalMs > 0 && pause(intervalMs)
      outcomes.push(await get(url, agent, read()))
      open.delete(client)
      if (due) await due
    }
  }
  const all = Promise.all(Array.from({ length: count }, work))
  return {
    outcomes,
    waiting: (milliseconds) =>
      open
        .values()
        .filter((sentAt) => performance.now() - sentAt > milliseconds)
        .toArray().length,
    stop: async () => {
      isStopped = true
      await all
      agent.destroy()
      return outcomes
    },
  }
}

/** The number of requests in the metrics. */
export async function countedRequests({ operationsUrl }: PorticoProcess): Promise<number> {
  const text = await (await fetch(`${operationsUrl}/metrics`)).text()
  const line = /^portico_request_duration_seconds_count\{operation="constants.timezones",status="200"\} (\d+)$/m
  return Number(line.exec(text)?.[1] ?? 0)
}
