import { requiredHeaders } from '../harness/http.ts'
import type { Portico } from '../harness/portico.ts'

export interface ReceivedEvent {
  id: string
  type: string
  data: { id: string; type: string; subject: string }
}

export interface EventReader {
  events: ReceivedEvent[]
  /** The last id, also of blocks without data. */
  lastId(): string
  /** Resolves at the end of the stream. Rejects if it breaks off. */
  ended: Promise<void>
  cancel(): Promise<void>
}

const fieldOf = (block: string, name: string): string | undefined => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1]

/** Reads a stream of events in the background. */
export function readEvents(response: Response): EventReader {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  if (!reader) throw new Error('no body')
  const events: ReceivedEvent[] = []
  let last = ''
  let rest = ''
  const readAll = async (): Promise<void> => {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const blocks = (rest + part.value).split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) {
        last = fieldOf(block, 'id') ?? last
        const data = fieldOf(block, 'data')
        if (data !== undefined) events.push({ id: last, type: fieldOf(block, 'event') ?? '', data: JSON.parse(data) })
      }
    }
  }
  const ended = readAll()
  ended.catch(() => undefined)
  return { events, lastId: () => last, ended, cancel: () => reader.cancel() }
}

interface Opening {
  token: string
  workspace?: string
  replica?: number
  lastEventId?: string | undefined
}

export function openEventStream(
  portico: Pick<Portico, 'urls'>,
  path: string,
  { token, workspace, replica = 0, lastEventId }: Opening,
): Promise<Response> {
  const { 'content-type': _, ...required } = requiredHeaders(
    path.startsWith('/web/v1/system') ? 'system-dev' : 'consumer-dev',
  )
  return fetch(`${portico.urls[replica % portico.urls.length]}${path}`, {
    headers: {
      ...required,
      authorization: `Bearer ${token}`,
      ...(workspace !== undefined && { 'x-workspace-id': workspace }),
      ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
    },
  })
}
