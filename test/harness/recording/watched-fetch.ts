import { catalogue } from '../../../src/contract/index.ts'
import { createRouter, type RouteMatch } from '../../../src/gateway/pipeline/router.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../src/openapi/json.ts'
import type { Seen } from './read.ts'

const route = createRouter(catalogue)

function matchOf(method: string, path: string): RouteMatch | null {
  try {
    return route(method, path)
  } catch {
    return null
  }
}

async function formOf(body: BodyInit, type: string | null): Promise<JsonObject> {
  const form = await new Response(body, { headers: type === null ? {} : { 'content-type': type } }).formData()
  const fields = [...form].map(([name, value]): [string, Json] => [
    name,
    typeof value === 'string' ? value : `<the bytes of ${value.name}>`,
  ])
  return Object.fromEntries(fields)
}

async function requestOf({ operation }: RouteMatch, { body, headers }: RequestInit): Promise<Json | undefined> {
  if (body === null || body === undefined) return undefined
  if (operation.body === 'multipart') return formOf(body, new Headers(headers).get('content-type'))
  return typeof body === 'string' ? JSON.parse(body) : undefined
}

async function replyOf(response: Response): Promise<Json> {
  const type = response.headers.get('content-type') ?? 'no type'
  return type.startsWith('application/json') ? response.clone().json() : `<bytes of ${type}>`
}

function isSealed(request: Json | undefined): boolean {
  return isJsonObject(request) && typeof request.payload === 'string'
}

/** Calls `query` with each unencrypted request whose response is in English. */
export function watchedFetch(fetch: typeof globalThis.fetch, query: (seen: Seen) => void) {
  const underWay = new Set<Promise<void>>()

  const watch = async (url: URL, init: RequestInit, response: Response): Promise<void> => {
    const match = matchOf(init.method ?? 'GET', url.pathname)
    const isEnglish = (new Headers(init.headers).get('x-locale') ?? 'en') === 'en'
    if (!match || !isEnglish || init.method === 'HEAD') return
    // Cloning fails after the caller has read the body.
    const reply = await replyOf(response)
    const request = response.ok ? await requestOf(match, init) : undefined
    if (isSealed(request) && match.operation.policy.channel === 'optional') return
    query({ match, query: url.search.slice(1), request, status: response.status, reply })
  }

  const watched: typeof globalThis.fetch = async (input, init = {}) => {
    const response = await fetch(input, init)
    if (input instanceof Request) return response
    // Tests send malformed requests on purpose, which are not examples.
    const watching = watch(new URL(input), init, response).catch(() => undefined)
    underWay.add(watching)
    void watching.then(() => underWay.delete(watching))
    return response
  }
  return { fetch: watched, settled: () => Promise.all(underWay) }
}
