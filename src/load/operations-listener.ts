import * as z from 'zod'

/** A sample of the gateway's process metrics. */
export interface ProcessSample {
  residentBytes: number | null
  heapUsedBytes: number | null
  eventLoopLagP99Seconds: number | null
}

/** The development outbox and the metrics of a gateway. */
export interface OperationsListener {
  /** Returns the newest mailed sign-in code that differs from `previous`. Waits up to ten seconds for it. */
  signInCode(email: string, previous: MailedCode | null): Promise<MailedCode>
  /** Returns null if the metrics cannot be read. */
  sample(): Promise<ProcessSample | null>
}

export interface MailedCode {
  code: string
  at: string
}

const Mails = z.array(z.object({ to: z.string(), template: z.string(), text: z.string(), at: z.string() }))

const maxWaitMs = 10_000
const pollMs = 25

export interface OperationsPorts {
  fetch: typeof globalThis.fetch
  pause(milliseconds: number): Promise<unknown>
}

/** Returns the client of the operations listener at a URL. */
export function createOperationsListener(url: string, { fetch, pause }: OperationsPorts): OperationsListener {
  const readMails = async () => {
    const response = await fetch(new URL('/mail.json', url), { redirect: 'error' })
    if (!response.ok)
      throw new Error(`${url}/mail.json: status ${response.status}; only the development profile has it`)
    return Mails.parse(await response.json())
  }
  return {
    signInCode: async (email, previous) => {
      for (let waitedMs = 0; waitedMs < maxWaitMs; waitedMs += pollMs) {
        const mail = (await readMails()).find(({ to, template }) => to === email && template === 'login-code')
        const code = /\b\d{6}\b/.exec(mail?.text ?? '')?.[0]
        if (mail && code && (mail.at !== previous?.at || code !== previous.code)) return { code, at: mail.at }
        await pause(pollMs)
      }
      throw new Error(`no new sign-in code for ${email} in the outbox at ${url}/mail`)
    },
    sample: async () => {
      try {
        const response = await fetch(new URL('/metrics', url), { redirect: 'error' })
        if (!response.ok) return null
        const text = await response.text()
        return {
          residentBytes: gauge(text, 'portico_process_resident_memory_bytes'),
          heapUsedBytes: gauge(text, 'portico_nodejs_heap_size_used_bytes'),
          eventLoopLagP99Seconds: gauge(text, 'portico_nodejs_eventloop_lag_p99_seconds'),
        }
      } catch {
        return null
      }
    },
  }
}

/** Returns the value of a gauge without labels in the Prometheus text format. */
function gauge(text: string, name: string): number | null {
  const [, value] = new RegExp(`^${name} (\\S+)$`, 'm').exec(text) ?? []
  return value === undefined ? null : Number(value)
}
