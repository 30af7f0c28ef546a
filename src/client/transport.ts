import type { Settings } from './options.ts'
import type { OperationParts, WireRequest } from './portal/operation.ts'

export type SignableRequest = Pick<WireRequest, 'method' | 'url' | 'headers'>

/** Proves with each request that the client holds a private key. */
export interface RequestSigner {
  /** Returns the headers of the request. */
  sign(request: SignableRequest): Promise<Record<string, string>>
  /** Sees each response. Returns whether it has corrected its clock. */
  learn(response: Response): boolean | Promise<boolean>
}

/** Rejects only if no response arrives. */
export type Transport = (request: WireRequest) => Promise<Response>

/** The interface uses no caches or redirects. `redirect: 'error'` would look like a lost response and fails in workerd. */
const isolation = { cache: 'no-store', redirect: 'manual', referrerPolicy: 'no-referrer' } as const

/** A Response with these must not have a body. */
const bodilessStatuses = new Set([204, 205, 304])

export function createTransport(
  { fetch, credentials }: Pick<Settings, 'fetch' | 'credentials'>,
  { upload: defaultUpload }: OperationParts,
  signer?: RequestSigner,
): Transport {
  const sendOnce: Transport = (request) => {
    const send = request.upload ?? defaultUpload
    return request.onProgress && send && typeof XMLHttpRequest !== 'undefined'
      ? send(request, credentials)
      : sendByFetch(fetch, request, credentials)
  }
  if (!signer) return sendOnce
  return async (request) => {
    const send = async () => sendOnce({ ...request, headers: await signer.sign(request) })
    const response = await send()
    const isCorrected = await signer.learn(response)
    // The gateway has refused the time of the proof.
    return isCorrected && (response.status === 400 || response.status === 401) ? send() : response
  }
}

/** Only XMLHttpRequest reports upload progress. It cannot omit cookies or reject redirects. */
export function sendByXhr(
  { method, url, headers, body, signal, onProgress }: WireRequest,
  credentials: RequestCredentials,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const xhr = new XMLHttpRequest()
    xhr.open(method, url)
    xhr.withCredentials = credentials === 'include'
    xhr.responseType = 'arraybuffer'
    for (const [name, value] of Object.entries(headers)) xhr.setRequestHeader(name, value)
    xhr.upload.onprogress = ({ loaded, total }) => onProgress?.({ loaded, total })
    xhr.onload = () => {
      try {
        resolve(toResponse(xhr))
      } catch (cause) {
        // The Response constructor throws for some statuses, such as 999.
        reject(cause)
      }
    }
    xhr.onerror = () => reject(new TypeError('no response to the upload'))
    // Browsers abort on window.stop() and when the user leaves the page.
    xhr.onabort = () => reject(new DOMException('the upload was aborted', 'AbortError'))
    const abort = (): void => {
      reject(signal?.reason)
      xhr.abort()
    }
    if (signal?.aborted) return abort()
    signal?.addEventListener('abort', abort, { once: true })
    xhr.onloadend = () => signal?.removeEventListener('abort', abort)
    xhr.send(body)
  })
}

function toResponse(xhr: XMLHttpRequest): Response {
  const { status, response } = xhr
  const init = { status, headers: parseHeaders(xhr.getAllResponseHeaders()) }
  return new Response(bodilessStatuses.has(status) ? null : response, init)
}

function parseHeaders(raw: string): [string, string][] {
  return raw
    .trim()
    .split(/\r?\n/)
    .filter(Boolean)
    .map((line) => {
      const at = line.indexOf(':')
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()]
    })
}

function sendByFetch(
  fetch: typeof globalThis.fetch,
  { method, url, headers, body, signal }: WireRequest,
  credentials: RequestCredentials,
): Promise<Response> {
  return fetch(url, { ...isolation, credentials, method, headers, body, signal })
}
