import type { Instant } from './time.ts'

export const successCode = '2000'
export const successMessage = 'Success'

/** The frame around a payload that is JSON already, so that it need not be parsed and written again. */
export const successText = (version: string, at: Instant, dataText: string): string =>
  `{"version":"${version}","timestamp":${at},"success":true,"code":"${successCode}","message":"${successMessage}","data":${dataText}}`

/** `field` is told apart by services alone, for the gateway to name it in words of its own. */
export const failureText = (version: string, at: Instant, code: string, message: string, field?: string): string =>
  JSON.stringify({ version, timestamp: at, success: false, code, message, field, data: null })
