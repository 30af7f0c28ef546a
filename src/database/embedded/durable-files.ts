import { closeSync, fsyncSync, openSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { NodeFS } from '@electric-sql/pglite/nodefs'
import { isRecord } from '../../kernel/index.ts'

/**
 * Start parameters for a PGlite store whose commits survive a power failure. PGlite's default parameters include `-F`,
 * which disables fsync. `wal_sync_method` must be `fsync`, because PGlite's libc ignores the default method
 * `fdatasync`.
 */
export const durableStartParams = [
  ...PGlite.defaultStartParams.filter((parameter) => parameter !== '-F'),
  ...['fsync=on', 'wal_sync_method=fsync', 'synchronous_commit=on', 'full_page_writes=on'].flatMap((setting) => [
    '-c',
    setting,
  ]),
]

/** The WASI error number of EIO. PostgreSQL panics without a retry if flushing its WAL fails with EIO. */
const ioError = 29

/** PGlite's file system with a working `fsync`. The `fsync` of Emscripten reports success without flushing the file. */
export class DurableNodeFS extends NodeFS {
  override async init(...[pglite, options]: Parameters<NodeFS['init']>): ReturnType<NodeFS['init']> {
    const { emscriptenOpts } = await super.init(pglite, options)
    const addFsync: NonNullable<typeof emscriptenOpts.preRun>[number] = ({ FS, NODEFS }) => {
      const fileSystem: unknown = NODEFS
      if (!isRecord(fileSystem) || !isRecord(fileSystem.stream_ops))
        throw new Error('PGlite has no NODEFS.stream_ops: its files cannot be flushed to disk')
      fileSystem.stream_ops.fsync = ({ nfd }: { nfd: number }): number => {
        try {
          fsyncSync(nfd)
          return 0
        } catch {
          throw new FS.ErrnoError(ioError)
        }
      }
    }
    return { emscriptenOpts: { ...emscriptenOpts, preRun: [...(emscriptenOpts.preRun ?? []), addFsync] } }
  }
}

/** Flushes one file or directory to disk. */
export const syncPath = (path: string): void => {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/**
 * Flushes a folder and its contents to disk. Also flushes the two parent folders, which contain its directory entries.
 */
export const syncFolder = (folder: string): void => {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
    if (entry.isFile() || entry.isDirectory()) syncPath(join(entry.parentPath, entry.name))
  for (const path of [folder, dirname(folder), dirname(dirname(folder))]) syncPath(path)
}
