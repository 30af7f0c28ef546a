import { Agent, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import type { Shot } from '../load/spray.ts'

/** Before and after the failure. */
const phaseMs = 5_000
/** A connection that nobody answers is a lost request. */
const timeoutMs = 5_000

type Result = 'ok' | 'refused' | 'broken' | 'silent'

/** Sends GETs at a constant rate on persistent connections. A broken one is sent again once, like a load balancer does. */
export async function driveThroughFailure(shot: Shot, rate: number, fail: () => void): Promise<string> {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  const counts = { sent: 0, refused: 0, broken: 0, silent: 0, lost: 0 }
  const pending: Promise<void>[] = []
  const send = async (): Promise<void> => {
    counts.sent += 1
    const first = await get(shot, agent)
    if (first === 'ok') return
    counts[first] += 1
    if (first === 'refused' || (await get(shot, agent)) !== 'ok') counts.lost += 1
  }
  const begun = performance.now()
  let hasFailed = false
  for (let due = 0; due < 2 * phaseMs; due += 1_000 / rate) {
    await pause(Math.max(0, begun + due - performance.now()))
    if (!hasFailed && due >= phaseMs) {
      hasFailed = true
      fail()
    }
    pending.push(send())
  }
  await Promise.all(pending)
  agent.destroy()
  const { sent, refused, broken, silent, lost } = counts
  return `${sent} sent, ${broken} broken, ${silent} without an answer for ${timeoutMs / 1_000} s, ${refused} refused; ${lost} lost after one retry`
}

function get({ url, headers }: Shot, agent: Agent): Promise<Result> {
  return new Promise((resolve) => {
    const sent = request(url, { agent, headers, timeout: timeoutMs }, (response) => {
      response.resume().on('close', () => {
        if (!response.complete) resolve('broken')
        else resolve(response.statusCode === 200 ? 'ok' : 'refused')
      })
    })
    sent.on('timeout', () => {
      resolve('silent')
      sent.destroy()
    })
    sent.on('error', () => resolve('broken')).end()
  })
}
