import { request } from 'node:http'
import { json } from 'node:stream/consumers'
import { requiredHeaders } from './http.ts'

/** Withholds the last byte until `until` resolves. */
export function postWithDelayedEnd(
  url: string,
  { headers, bytes }: { headers: Record<string, string>; bytes: Uint8Array },
  until: Promise<unknown>,
): Promise<{ status: number | undefined; body: unknown }> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', headers: { ...requiredHeaders(), ...headers } }, (answer) => {
      json(answer).then((body) => resolve({ status: answer.statusCode, body }), reject)
    })
    sent.on('error', reject).write(bytes.subarray(0, -1))
    void until.then(() => sent.end(bytes.subarray(-1)))
  })
}
