import type { Logger } from 'pino'
import type { Configuration } from '../config/index.ts'
import type { Catalogue } from '../contract/index.ts'
import {
  assertWritable,
  createSnapshotReader,
  type Database,
  measureClockSkew,
  type OpenDatabase,
  openDatabase,
  type ReadSnapshot,
} from '../database/index.ts'
import { type Clock, hours, type Ids, type Randomness, type Words } from '../kernel/index.ts'
import { type BackgroundWork, createBackgroundWork } from '../platform/background-work.ts'
import { type Blobs, openBlobs } from '../platform/blobs/index.ts'
import type { Cache } from '../platform/cache/index.ts'
import {
  createKeyedDigest,
  createPasswordHasher,
  createSecretBox,
  type KeyedDigest,
  type PasswordHasher,
  type SecretBox,
} from '../platform/crypto/index.ts'
import { createLimits, type Limits } from '../platform/limits/index.ts'
import {
  createOutbox,
  createSharedOutbox,
  type Mailer,
  type MailTexts,
  openSmtpMailer,
  type ReadableOutbox,
} from '../platform/mail/index.ts'
import type { PubSub } from '../platform/pubsub.ts'
import { systemClock, systemIds, systemRandomness } from '../platform/runtime/index.ts'
import { mailTextsOf, wordsOf } from './catalogue.ts'
import type { Loaded } from './loading.ts'
import { openSharedState, type SharedState } from './shared-state.ts'
import { databaseTarget } from './store.ts'

/**
 * Creates the mailer: SMTP, or the development outbox. The outbox is in memory for the embedded store, and in the
 * database for several replicas.
 */
const createMailer = async (settings: Configuration, texts: MailTexts, database: Database) => {
  const { from, timeoutMs, outboxSize } = settings.mail
  if (settings.smtpUrl) {
    const mailer = await openSmtpMailer({ url: settings.smtpUrl.reveal(), from, timeoutMs }, texts)
    return { mailer, outbox: null }
  }
  const outbox = settings.databaseUrl
    ? createSharedOutbox(texts, systemClock, outboxSize, database)
    : createOutbox(texts, systemClock, outboxSize)
  return { mailer: outbox, outbox }
}

/** If the clocks differ by more than this, a replica rejects tokens that another one has just issued. */
const warnSkewMs = 1_000

/** If a clock is a day ahead, every session and key expires, and the limits of another day apply. */
const maxSkewMs = hours(12)

/** The stores, mail, caches and other ports of one process. */
export interface Infrastructure {
  database: Database
  waitingForDatabase: OpenDatabase['waiting']
  withoutTimeouts: OpenDatabase['withoutTimeouts']
  /** Resolves with the reason once the embedded store has failed. */
  storeFailure: OpenDatabase['fatal']
  inSnapshot: ReadSnapshot
  blobs: Blobs
  probes: SharedState['probes']
  cache: Cache
  pubsub: PubSub
  limits: Limits
  mailer: Mailer
  /** The development outbox. Null if mail is sent over SMTP. */
  outbox: ReadableOutbox | null
  background: BackgroundWork
  words: Words
  clock: Clock
  ids: Ids
  randomness: Randomness
  secretBox: SecretBox
  digest: KeyedDigest
  passwords: PasswordHasher
}

/**
 * Opens the stores, mail and caches behind their ports; `stack` closes them in reverse order. `allowReplicas` allows
 * other processes of this kind without Redis.
 */
export const openInfrastructure = async (
  settings: Configuration,
  catalogue: Catalogue,
  { domains, owners }: Loaded,
  allowReplicas: boolean,
  logger: Logger,
  stack: AsyncDisposableStack,
): Promise<Infrastructure> => {
  const onConnectionBroken = (error: Error) => logger.warn({ err: error }, 'database connection lost')
  const onDiskFull = (isFull: boolean) =>
    isFull
      ? logger.error('disk full: the embedded store is read-only')
      : logger.info('disk space available again: the embedded store is writable')
  const texts = await mailTextsOf(domains)
  const store = await openDatabase(databaseTarget(settings, onConnectionBroken, onDiskFull))
  stack.defer(() => store.close())
  await assertWritable(store.database)
  const aheadMs = -(await measureClockSkew(store.database, systemClock))
  if (Math.abs(aheadMs) >= maxSkewMs) throw new Error(`clock skew: this process is ${aheadMs} ms ahead of the database`)
  if (Math.abs(aheadMs) >= warnSkewMs) logger.warn({ aheadMs }, 'clock skew between this process and the database')
  const migrated = await store.migrate(owners)
  if (migrated.length > 0) logger.info({ migrated }, 'schema migrated')
  const shared = await openSharedState(settings, allowReplicas, systemClock, logger, stack)
  const limits = createLimits(settings.limits.scale, systemClock, shared.counters)
  stack.defer(() => limits.close())
  const blobs = await openBlobs(settings.files.storage, settings.dataDirectory)
  stack.defer(() => blobs.close())
  const { mailer, outbox } = await createMailer(settings, texts, store.database)
  stack.defer(() => mailer.close())
  const background = createBackgroundWork(settings.background, logger, systemRandomness)
  stack.defer(() => background.close())
  const key = settings.secretKey.reveal()
  return {
    database: store.database,
    waitingForDatabase: store.waiting,
    withoutTimeouts: store.withoutTimeouts,
    storeFailure: store.fatal,
    inSnapshot: createSnapshotReader(store, systemClock),
    blobs,
    probes: [{ name: 'store', check: store.check }, ...shared.probes],
    cache: shared.cache,
    pubsub: shared.pubsub,
    limits,
    mailer,
    outbox,
    background,
    words: wordsOf(catalogue, domains, settings.codedValues),
    clock: systemClock,
    ids: systemIds,
    randomness: systemRandomness,
    secretBox: createSecretBox(key, systemRandomness),
    digest: createKeyedDigest(key),
    passwords: createPasswordHasher(
      { concurrency: settings.passwords.concurrency, waiting: settings.passwords.queue },
      systemRandomness,
    ),
  }
}
