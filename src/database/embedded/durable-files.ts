import { closeSync, fsyncSync, openSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { NodeFS } from '@electric-sql/pglite/nodefs'
import { isRecord } from '../../kernel/index.ts'

/**
 * PGlite's default parameters include `-F`, which disables fsync. Its libc ignores the default `wal_sync_method`, which
 * is fdatasync.
 */
export const durableStartParams = [
  ...PGlite.defaultStartParams.filter((parameter) => parameter !== '-F'),
  ...['fsync=on', 'wal_sync_method=fsync', 'synchronous_commit=on', 'full_page_writes=on'].flatMap((setting) => [
    '-c',
    setting,
  ]),
]

/** The WASI number of EIO, after which PostgreSQL panics without a retry. */
const ioError = 29

/** The `fsync` of Emscripten reports success without flushing the file. */
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

export function syncPath(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Also syncs the parent folders, because a folder's own directory entry is stored in its parent. */
export function syncFolder(folder: string): void {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
    if (entry.isFile() || entry.isDirectory()) syncPath(join(entry.parentPath, entry.name))
  for (const path of [folder, dirname(folder), dirname(dirname(folder))]) syncPath(path)
}
