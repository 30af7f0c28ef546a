import { closeSync, fsyncSync, openSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { NodeFS } from '@electric-sql/pglite/nodefs'
import { isRecord } from '../../kernel/index.ts'

/**
 * Start parameters of a durable PGlite. By default it starts with `-F` (`fsync=off`). Its libc ignores `fdatasync`, the
 * default of `wal_sync_method`, so only `fsync` reaches the disk.
 */
export const durableStartParams = [
  ...PGlite.defaultStartParams.filter((parameter) => parameter !== '-F'),
  ...['fsync=on', 'wal_sync_method=fsync', 'synchronous_commit=on', 'full_page_writes=on'].flatMap((setting) => [
    '-c',
    setting,
  ]),
]

/** EIO in WASI. PostgreSQL panics if flushing its log returns this, and never retries. */
const ioError = 29

/** PGlite's file system with a working `fsync`: Emscripten's reports success without flushing. */
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

/** Flushes a folder, its contents, and the entries of its two parent folders. */
export const syncFolder = (folder: string): void => {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
    if (entry.isFile() || entry.isDirectory()) syncPath(join(entry.parentPath, entry.name))
  for (const path of [folder, dirname(folder), dirname(dirname(folder))]) syncPath(path)
}
