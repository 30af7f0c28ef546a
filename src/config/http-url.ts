import { z } from 'zod'
import { Secret } from './secrets.ts'

/** A user and a password in an address would show wherever the address does: in logs, metrics and `config check`. */
const isWithoutUser = (text: string): boolean => {
  const url = URL.parse(text)
  return url === null || (url.username === '' && url.password === '')
}

/** A scheme may be written in either case. */
export const isHttps = (text: string): boolean => URL.parse(text)?.protocol === 'https:'

const isBare = (text: string): boolean => !/[?#]/.test(text)

export const httpUrl = z
  .url({ protocol: /^https?$/, error: 'an address that begins with http:// or https://' })
  .refine(isWithoutUser, 'an address without a user or password in it')

/** Where a service is: paths are appended to it. */
export const baseUrl = httpUrl.refine(isBare, 'an address without a query or fragment')

/** One whose query may hold a key. */
export const secretUrl = httpUrl.transform((text) => new Secret(text))

/** One that something is appended to. To the name or the key that stands last it would make another one of it. */
export const secretPrefix = httpUrl
  .refine((text) => /[/=]$/.test(text), 'an address that ends with / or =')
  .transform((text) => new Secret(text))
