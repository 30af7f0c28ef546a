import { z } from 'zod'

export function httpUrl(option: string) {
  return z
    .string()
    .refine((text) => /^https?:\/\/[^@]+$/.test(text) && URL.canParse(text), {
      message: `${option} must be an http(s) URL`,
    })
    .transform((text) => new URL(text))
}

/** Whether a URL names this machine. URL has already normalized IPv4 addresses, so a name such as 127.a.test differs. */
export function isLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname)
}
