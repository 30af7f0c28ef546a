import { Refusal } from '../../kernel/index.ts'

/** The only refusal of a credential. `internal` is the reason, for the log. */
export function invalidPasskey(internal: string, cause?: unknown): Refusal {
  return new Refusal('AUTH.PASSKEY_INVALID', { internal, cause })
}

export function fromBase64url(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(Buffer.from(text, 'base64url'))
}

export function toBase64url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url')
}
