import type { Instant } from './time.ts'

export const successCode = '2000'
export const successMessage = 'Success'

/** The frame around a payload that is JSON already, so that it need not be parsed and written again. */
export const successText = (version: string, at: Instant, dataText: string): string =>
  `{"version":"${version}","timestamp":${at},"success":true,"code":"${successCode}","message":"${successMessage}","data":${dataText}}`

export const failureText = (version: string, at: Instant, code: string, message: string): string =>
  JSON.stringify({ version, timestamp: at, success: false, code, message, data: null })
