import { writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, expect, inject } from 'vitest'
import type { HttpExchange } from '../../../src/client/index.ts'
import { catalogue } from '../../../src/contract/index.ts'
import { createRouter } from '../../../src/gateway/pipeline/router.ts'
import { toJsonObject } from '../../../src/openapi/json.ts'
import type { Observation } from './observation.ts'
import { observationOf, type Seen } from './read.ts'
import { watchedFetch } from './watched-fetch.ts'

const folder = inject('recordings')
const observations: Observation[] = []

function record(seen: Seen): void {
  const observation = observationOf(seen)
  if (observation) observations.push(observation)
}

const route = createRouter(catalogue)

/** The fetch wrapper sees only the ciphertext of these exchanges. */
export function recordSealed({ method, path, request, status, reply, sealed }: HttpExchange): void {
  if (folder === null || !sealed || reply === null) return
  const { pathname, search } = new URL(path, 'http://gateway')
  const json = toJsonObject({ request: request ?? undefined, reply })
  record({
    match: route(method, pathname),
    query: search.slice(1),
    request: json.request,
    status,
    reply: json.reply ?? null,
  })
}

/** With RECORD_EXAMPLES=1, writes the examples to the run's folder. */
if (folder !== null) {
  const usual = globalThis.fetch
  const watched = watchedFetch(usual, record)
  beforeAll(() => {
    globalThis.fetch = watched.fetch
  })
  afterAll(async () => {
    globalThis.fetch = usual
    await watched.settled()
    const name = basename(expect.getState().testPath ?? 'unnamed')
    writeFileSync(join(folder, `${name}.json`), JSON.stringify(observations))
  })
}
