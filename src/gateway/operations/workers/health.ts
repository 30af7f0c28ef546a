import * as z from 'zod'
import type { Answer } from './worker-request.ts'

const Readiness = z.looseObject({
  status: z.enum(['ready', 'unready', 'draining']),
  checks: z.record(z.string(), z.string()),
  reasons: z.record(z.string(), z.string()).optional(),
})
type Readiness = z.output<typeof Readiness>

type WorkerAnswer = { number: number; answer: Answer | null }

/** Ready if at least one worker is. The first one that is gives the checks. */
export function readinessOfWorkers(answers: readonly WorkerAnswer[], absent: readonly number[], isDraining: boolean) {
  const workers = [
    ...answers.map(({ number, answer }) => ({ number, ...readinessOf(answer) })),
    ...absent.map((number) => ({ number, ...unready('is not started') })),
  ].toSorted((one, other) => one.number - other.number)
  const shown = workers.find(({ status }) => status === 'ready') ?? workers[0] ?? unready('is not started')
  return {
    status: isDraining ? 'draining' : shown.status,
    checks: shown.checks,
    ...(shown.reasons && { reasons: shown.reasons }),
    workers: Object.fromEntries(workers.map(({ number, ...worker }) => [number, worker])),
  }
}

function readinessOf(answer: Answer | null): Readiness {
  if (!answer) return unready('does not answer')
  try {
    return Readiness.parse(JSON.parse(answer.body.toString()))
  } catch {
    return unready('does not answer')
  }
}

function unready(reason: string): Readiness {
  return { status: 'unready', checks: {}, reasons: { worker: reason } }
}
