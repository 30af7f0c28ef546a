import * as z from 'zod'
import { Status } from '../status-schema.ts'
import type { Answer } from './worker-request.ts'

/*
 * Without Redis, workers do not know each other. That is so in domain services only.
 */

const Entries = z.array(z.unknown())

/** The entries of all workers. The first refusal, such as 404, if none has any. */
export function mergedExplanations(answers: readonly Answer[]): Answer {
  const [first, ...others] = answers.filter(({ status }) => status === 200)
  if (!first) return answers[0] ?? noAnswer
  return withBody(
    first,
    [first, ...others].flatMap((answer) => Entries.parse(bodyOf(answer))),
  )
}

/** The replicas of all workers. Each one reads the same store. */
export function mergedStatus(answers: readonly Answer[]): Answer {
  const [first, ...others] = answers.filter(({ status }) => status === 200)
  if (!first) return answers[0] ?? noAnswer
  const [own, ...rest] = [first, ...others].map((answer) => Status.parse(bodyOf(answer)))
  const all = own ? [own, ...rest] : rest
  const problems = [...new Set(all.flatMap((status) => status.problems))]
  return withBody(first, {
    ...own,
    isHealthy: problems.length === 0,
    problems,
    replicas: all.flatMap(({ replicas }) => replicas),
    missing: all.flatMap(({ missing }) => missing),
  })
}

const noAnswer: Answer = { status: 503, headers: {}, body: Buffer.from(JSON.stringify({ status: 'failed' })) }

function bodyOf({ body }: Answer): unknown {
  return JSON.parse(body.toString())
}

function withBody(answer: Answer, body: unknown): Answer {
  return { ...answer, body: Buffer.from(JSON.stringify(body)) }
}
