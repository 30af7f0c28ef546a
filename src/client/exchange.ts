import { type Attempt, type Prepared, prepare } from './attempt.ts'
import type { Answer } from './calling.ts'
import { openFrame, readJson } from './envelope.ts'
import { PorticoError } from './error.ts'
import type { Settings } from './options.ts'
import type { Transport } from './transport/index.ts'

/** A request without an answer, as an error. A caller's own abort has ended the call before (giving-up.ts). */
const lost = (cause: unknown, requestId: string, late: boolean): PorticoError => {
  const message = late ? 'no answer came in time' : 'no answer came'
  return new PorticoError({ status: 0, code: late ? 'CLIENT.TIMEOUT' : 'CLIENT.NETWORK', message, requestId, cause })
}

const unusable = (requestId: string, status: number, message: string, cause: unknown): PorticoError =>
  new PorticoError({ status, code: 'CLIENT.INVALID_REPLY', message, requestId, cause })

/** A download is an attachment (completions.md, Files and exports), but for the news that there is none; a proxy's page is not. */
const isDownload = ({ status, headers }: Response): boolean =>
  status === 304 || (status < 300 && /^attachment\b/i.test(headers.get('content-disposition') ?? ''))

/** Sends one attempt and yields its reply: opened, and checked against the operation's schema. */
export const createExchange = (settings: Settings, transport: Transport) => {
  const send = async ({ request, isLate }: Prepared, attempt: Attempt) => {
    const isStream = attempt.route.operation.reply === 'stream'
    try {
      const response = await transport(request)
      const bytes = isStream && isDownload(response)
      return { response, bytes, json: bytes ? null : await readJson(response) }
    } catch (error) {
      throw lost(error, attempt.requestId, isLate())
    }
  }

  return async (attempt: Attempt): Promise<Answer<unknown>> => {
    const { route, args, requestId } = attempt
    const { id: operationId, reply } = route.operation
    const prepared = await prepare(settings, attempt)
    const { request, target, open } = prepared
    const { response, bytes, json } = await send(prepared, attempt)
    const { status } = response
    const tell = (shown: unknown): void => {
      const facts = { operationId, requestId, method: request.method, path: target, sealed: attempt.channel !== null }
      settings.onExchange({ ...facts, request: args.body ?? null, status, reply: shown })
    }
    if (bytes) {
      tell(null)
      return { data: response, timestamp: null }
    }
    if (!response.ok) tell(json)
    const frame = openFrame(response, json, requestId)
    const data = await open(frame.data).catch((cause: unknown) => {
      throw unusable(requestId, status, 'the sealed reply does not open', cause)
    })
    tell({ ...frame.envelope, data })
    const checked = reply === 'stream' ? undefined : reply.safeParse(data)
    if (checked?.success) return { data: checked.data, timestamp: frame.timestamp }
    throw unusable(requestId, status, `the reply is not one of ${operationId}`, checked?.error)
  }
}
