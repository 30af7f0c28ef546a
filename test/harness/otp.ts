import { generateSync } from 'otplib'
import { vi } from 'vitest'

/** Step 0 is the current time step, 1 the next one. */
export function otpOf(secret: string, step = 0): string {
  return generateSync({ secret, epoch: Math.floor(Date.now() / 1_000) + step * 30 })
}

/** Sends the code of the previous step, which leaves those of the current and the next one. The step cannot end meanwhile. */
export function withPreviousOtp<T>(secret: string, request: (code: string) => Promise<T>): Promise<T> {
  vi.useFakeTimers({ toFake: ['Date'] })
  return request(otpOf(secret, -1)).finally(() => vi.useRealTimers())
}
