import { createClient, isPorticoError, type PorticoError } from 'portico-client'

export interface CodePrompt {
  label: string
  /** Why the previous code was refused. */
  error: string | null
  submit(code: string): void
  cancel(): void
}

class Cancelled extends Error {}

let show: (prompt: CodePrompt | null) => void = () => undefined

/** The listener shows the prompt. Null hides it. */
export function onCodePrompt(listener: (prompt: CodePrompt | null) => void): void {
  show = listener
}

/** `sent` is null if the user generates the code. */
export function askForCode(sent: { maskedDestination: string } | null, refused: PorticoError | null): Promise<string> {
  const label = sent ? `Code that we sent to ${sent.maskedDestination}` : 'Code of your authenticator app'
  const code = new Promise<string>((submit, reject) => {
    show({ label, error: refused?.message ?? null, submit, cancel: () => reject(new Cancelled()) })
  })
  return code.finally(() => show(null))
}

/** The text for people. Null if they cancelled. */
export function textOf(error: unknown): string | null {
  if (error instanceof Cancelled) return null
  return isPorticoError(error) ? error.message : String(error)
}

export const client = createClient({
  baseUrl: '/',
  portal: 'CONSUMER',
  accessCode: 'consumer-dev',
  session: 'cookie',
  // In production, an edge sets these headers.
  edgeHeaders: location.hostname === '127.0.0.1',
  onStepUp: { attempts: 3, code: ({ sent, refused }) => askForCode(sent, refused) },
})
