import { PassThrough, pipeline, Readable } from 'node:stream'
import { DeleteObjectCommand, GetObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { isRecord } from '../../kernel/index.ts'
import { assertBlobKey, type Blobs, BlobsUnavailable } from './blobs.ts'

export interface S3Settings {
  bucket: string
  region: string
  /** Of a store that is not Amazon's own. */
  endpoint?: string | undefined
  /** For the store to take a request, a part at most, and to answer it, which is asked twice; and for the next bytes of an answer. */
  timeoutMs: number
  /** The bucket in the path instead of in the host name, as most other stores want it. */
  forcePathStyle: boolean
  /** Before every key, such as `portico/`. */
  prefix: string
}

/** S3's smallest part; two of them are under way at once, which bounds what one upload holds in memory. */
const partSize = 5 * 1024 * 1024

/** A download has its connection for as long as its client takes. Of fifty, the handler's own bound, nobody else would get one. */
const unbounded = { maxSockets: Number.POSITIVE_INFINITY }

const isMissing = (error: unknown): boolean => error instanceof Error && error.name === 'NoSuchKey'

/** A body of which nothing comes for so long, although somebody waits for it, is broken off. */
const withReadTimeout = (body: Readable, timeoutMs: number): Readable => {
  const through = new PassThrough()
  const judge = (): void => {
    if (body.isPaused()) timer.refresh()
    else body.destroy(new BlobsUnavailable(new Error('the store fell silent in the middle of an answer')))
  }
  const timer = setTimeout(judge, timeoutMs)
  for (const sign of ['data', 'resume']) body.on(sign, () => timer.refresh())
  return pipeline(body, through, () => clearTimeout(timer))
}

/**
 * An S3-compatible store. Credentials come the way Amazon's client looks for them: environment, profile, or the role of
 * the machine. Checksums are sent only where the protocol demands them, since other stores know few. The parts of an
 * upload whose process was killed are the bucket's to clean up (a lifecycle rule, AbortIncompleteMultipartUpload).
 */
export const createS3Blobs = (settings: S3Settings): Blobs => {
  const { bucket: Bucket, prefix, region, endpoint, forcePathStyle, timeoutMs } = settings
  const client = new S3Client({
    region,
    forcePathStyle,
    maxAttempts: 2,
    requestHandler: {
      connectionTimeout: timeoutMs,
      requestTimeout: timeoutMs,
      throwOnRequestTimeout: true,
      httpAgent: unbounded,
      httpsAgent: unbounded,
    },
    ...(endpoint !== undefined && { endpoint }),
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  })
  // The client's own time ends with an answer's head: for the rest it would wait without end.
  client.middlewareStack.add(
    (next) => async (asked) => {
      const answered = await next(asked)
      const { response } = answered
      if (isRecord(response) && response.body instanceof Readable)
        response.body = withReadTimeout(response.body, timeoutMs)
      return answered
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
    get: async (key, range) => {
      try {
        const Range = range && `bytes=${range.first}-${range.last}`
        const { Body } = await client.send(new GetObjectCommand({ ...at(key), Range }))
        if (!(Body instanceof Readable)) throw new TypeError('the store answered without a stream')
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
        // Amazon's does not say so; others do.
        if (!isMissing(error)) throw error
      }
    },
    close: async () => client.destroy(),
  }
}
