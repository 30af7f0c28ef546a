/** The blob store did not do what it was asked, whatever the reason: not there, too slow, full, not to be entered. */
export class BlobsUnavailable extends Error {
  constructor(cause: unknown) {
    super(cause instanceof Error ? `blobs: ${cause.message}` : 'blobs', { cause })
    this.name = 'BlobsUnavailable'
  }
}

/** Whether a failure means that the blob store is not to be had: the request is then answered 503 and never passes. */
export const blobsFault = (error: unknown): boolean => error instanceof BlobsUnavailable
