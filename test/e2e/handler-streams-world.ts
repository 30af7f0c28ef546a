import * as z from 'zod'
import { domain } from '../../src/api/domain.ts'
import type { Configuration } from '../../src/config/index.ts'
import { member } from '../../src/contract/policies.ts'
import { type AnyRequest, operation, type ServerSentEvent } from '../../src/kernel/index.ts'
import { developmentIds } from '../../src/seed/development.ts'
import { createMovableDurations } from '../harness/durations.ts'
import { requiredHeaders } from '../harness/http.ts'
import { startPortico } from '../harness/portico.ts'
import { signIn } from '../harness/sign-in.ts'

export const path = '/web/v1/consumer/pulses'

export type Watch = (
  request: Pick<AnyRequest, 'signal' | 'lastEventId'>,
) => AsyncIterable<ServerSentEvent> | Promise<AsyncIterable<ServerSentEvent>>

const operations = {
  watchPulses: operation({
    id: 'pulses.watch',
    method: 'GET',
    path: '/pulses',
    chains: ['consumer', 'api'],
    summary: 'Watch pulses',
    policy: { ...member, channel: 'none', workspace: 'required', permission: 'wallet:read' },
    query: z.strictObject({}),
    body: 'none',
    reply: 'events',
    refuses: ['RESOURCE.NOT_FOUND'],
  }),
}

export interface HandlerStream {
  /** Resolves with the next events as text, or with null at the end. */
  next(): Promise<string | null>
  /** Rejects if the stream breaks off. */
  end(): Promise<void>
  cancel(): Promise<void>
}

export function streamOf(response: Response): HandlerStream {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  if (!reader) throw new Error('no body')
  return {
    next: async () => {
      const { value = null } = await reader.read()
      return value === '' ? ((await reader.read()).value ?? null) : value
    },
    end: async () => {
      for (;;) if ((await reader.read()).done) return
    },
    cancel: () => reader.cancel(),
  }
}

/** A handler in each gateway sends the events. */
export async function startHandlerStreams(adjust: (settings: Configuration) => void = () => undefined) {
  let watch: Watch = () => pulses({ signal: new AbortController().signal })
  const durations = createMovableDurations()
  const portico = await startPortico({
    durations,
    domains: [
      domain({
        name: 'pulses',
        summary: 'Pulses.',
        operations,
        create: () => ({ handlers: { watchPulses: async (request) => watch(request) } }),
      }),
    ],
    adjust,
  })
  portico.expectFault(({ operation: id }) => id === 'pulses.watch')
  const session = await signIn(portico)
  const headers = (extra: Record<string, string> = {}, token = session.accessToken) => {
    const { 'content-type': _, ...required } = requiredHeaders()
    return { ...required, authorization: `Bearer ${token}`, 'x-workspace-id': developmentIds.workspace, ...extra }
  }
  return {
    portico,
    durations,
    session,
    headers,
    respond: (next: Watch): void => {
      watch = next
    },
    open: (extra?: Record<string, string>, { token, replica = 0, method = 'GET' }: OpenOptions = {}) =>
      fetch(`${portico.urls[replica]}${path}`, { method, headers: headers(extra, token) }),
    lastEnd: () => portico.log.filter(({ streamEnd }) => streamEnd !== undefined).at(-1)?.streamEnd,
    openCount: async (): Promise<string | undefined> => {
      const text = await (await fetch(`${portico.operationsUrl}/metrics`)).text()
      return /^portico_open_streams\{operation="pulses.watch"\} (\d+)$/m.exec(text)?.[1]
    },
    stop: () => portico.stop(),
  }
}

interface OpenOptions {
  token?: string
  replica?: number
  method?: string
}

export type HandlerStreamsWorld = Awaited<ReturnType<typeof startHandlerStreams>>

/** Sends one event, and waits for the end. `onEnd` is called last. */
export async function* pulses(
  { signal }: Pick<AnyRequest, 'signal'>,
  onEnd: () => void = () => undefined,
): AsyncGenerator<ServerSentEvent> {
  try {
    yield { id: '1', event: 'pulse', data: { beat: 1 } }
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve))
  } finally {
    onEnd()
  }
}
