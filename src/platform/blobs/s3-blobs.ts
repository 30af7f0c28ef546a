import { PassThrough, pipeline, Readable } from 'node:stream'
import { DeleteObjectCommand, GetObjectCommand, HeadBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { isRecord } from '../../kernel/index.ts'
import { lookup } from '../runtime/index.ts'
import { assertBlobKey, type Blobs, BlobsUnavailable } from './blobs.ts'

export interface S3Settings {
  bucket: string
  region: string
  /** Undefined for Amazon S3. */
  endpoint?: string | undefined
  /**
   * Limits each of three steps: sending a request (at most one part), waiting for its response (attempted twice), and
   * waiting for more bytes. Default: enough for 5 MB at 4 Mbit/s.
   */
  timeoutMs?: number
  /** Put the bucket in the path. Most stores other than Amazon S3 require this. */
  forcePathStyle: boolean
  /** Such as `portico/`. */
  prefix: string
}

/** S3's minimum. An upload sends two parts concurrently, so it needs little memory. */
const partSize = 5 * 1024 * 1024

/** With the default limit of 50, fifty slow downloads would block all other requests. */
const agent = { maxSockets: Number.POSITIVE_INFINITY, lookup }

/**
 * Many stores other than Amazon S3 do not support checksums. Configure a lifecycle rule on the bucket
 * (AbortIncompleteMultipartUpload) to delete the parts of interrupted uploads.
 */
export function createS3Blobs(settings: S3Settings): Blobs {
  const { bucket: Bucket, prefix, region, endpoint, forcePathStyle, timeoutMs = 10_000 } = settings
  const client = new S3Client({
    region,
    forcePathStyle,
    maxAttempts: 2,
    requestHandler: {
      connectionTimeout: timeoutMs,
      requestTimeout: timeoutMs,
      throwOnRequestTimeout: true,
      httpAgent: agent,
      httpsAgent: agent,
    },
    ...(endpoint !== undefined && { endpoint }),
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  })
  // The SDK's timeout covers only the response headers.
  client.middlewareStack.add(
    (next) => async (request) => {
      const result = await next(request)
      const { response } = result
      if (isRecord(response) && response.body instanceof Readable)
        response.body = withReadTimeout(response.body, timeoutMs)
      return result
    },
    { step: 'deserialize', priority: 'low' },
  )
  const at = (key: string) => ({ Bucket, Key: prefix + assertBlobKey(key) })

  return {
    put: async (key, source) => {
      const params = { ...at(key), Body: source, ContentType: 'application/octet-stream' }
      try {
        await new Upload({ client, params, partSize, queueSize: 2, leavePartsOnError: false }).done()
      } finally {
        source.destroy()
      }
    },
    get: async (key, range, signal) => {
      try {
        const Range = range && `bytes=${range.first}-${range.last}`
        const { Body } = await client.send(
          new GetObjectCommand({ ...at(key), Range }),
          signal && { abortSignal: signal },
        )
        if (!(Body instanceof Readable)) throw new TypeError('the response has no body')
        return Body
      } catch (error) {
        if (isMissing(error)) return undefined
        throw error
      }
    },
    delete: async (key) => {
      try {
        await client.send(new DeleteObjectCommand(at(key)))
      } catch (error) {
        // Unlike Amazon S3, some stores report an error if the object does not exist.
        if (!isMissing(error)) throw error
      }
    },
    check: async () => {
      try {
        await client.send(new HeadBucketCommand({ Bucket }), { abortSignal: AbortSignal.timeout(timeoutMs) })
      } catch (cause) {
        throw new Error(`the bucket ${Bucket} (files.storage.bucket) cannot be used${reasonOfStatus(cause)}`, { cause })
      }
    },
    close: async () => client.destroy(),
  }
}

/** A response to HEAD has no body, so the error has no reason. */
function reasonOfStatus(error: unknown): string {
  const response: unknown = error instanceof Error && '$metadata' in error ? error.$metadata : undefined
  const status = isRecord(response) ? response.httpStatusCode : undefined
  if (status === 404) return ': it does not exist'
  if (status === 403) return ': access denied; check the credentials, and grant s3:ListBucket'
  return status === 301 || status === 400 ? ': it is in another region (files.storage.region)' : ''
}

/** Destroys a body if no bytes arrive for `timeoutMs` while the reader is waiting. */
function withReadTimeout(body: Readable, timeoutMs: number): Readable {
  const through = new PassThrough()
  const checkProgress = (): void => {
    if (body.isPaused()) timer.refresh()
    else body.destroy(new BlobsUnavailable(new Error('no data before the read timeout')))
  }
  const timer = setTimeout(checkProgress, timeoutMs)
  for (const event of ['data', 'resume']) body.on(event, () => timer.refresh())
  return pipeline(body, through, () => clearTimeout(timer))
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && error.name === 'NoSuchKey'
}
