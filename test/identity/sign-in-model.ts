/*
 * Who is signed in, and with what, in plain words. Accounts, devices and places go by their numbers, logins, sessions and
 * links by how many are newer; times in seconds.
 */

/** A mailed code, right or wrong; or a backup code: valid, used, or of an older set. */
export type Proof = 'right' | 'wrong' | 'backup' | 'old backup'

export type Command =
  | { kind: 'begin'; account: number; device: number; right: boolean }
  | { kind: 'finish'; login: number; other: number; place: number; proof: Proof }
  | { kind: 'signIn'; account: number; device: number }
  | { kind: 'refresh'; session: number; token: number; other: number; place: number; tabs: number }
  | { kind: 'change' | 'logout' | 'terminateAll' | 'generate' | 'enable' | 'disable'; session: number; place: number }
  | { kind: 'terminate'; session: number; target: number; place: number }
  | { kind: 'bound'; session: number; most: number; place: number }
  | { kind: 'stepUp'; session: number; place: number; right: boolean }
  | { kind: 'allow'; session: number; place: number; places: readonly number[] }
  | { kind: 'forgot'; account: number }
  | { kind: 'reset'; link: number }
  | { kind: 'wait'; seconds: number }
  | { kind: 'restart' }

interface Failures {
  since: number
  count: number
  inARow: number
  blockedUntil: number | null
}
interface Account {
  most: number
  /** The addresses of the whitelist, once it is enabled. */
  places: readonly number[]
  guarded: boolean
  /** Number of unused codes in the current set of backup codes. */
  backups: number
  logins: Failures
  factors: Failures
}
interface Login {
  account: Account
  device: number
  begun: number
  left: number
  over: boolean
}
interface Session {
  account: Account
  device: number
  begun: number
  used: number
  steppedUp: number
  /** When its newest access token expires. */
  accessUntil: number
  ended: boolean
  /** When each refresh token was used, in the order of the family. */
  spent: (number | null)[]
}

export const limits = { failures: 3, attempts: 3, most: 3, backups: 10 }
const [minute, hour] = [60, 3_600]
const lives = { login: 10 * minute, link: 30 * minute, access: 15 * minute, idle: 30 * minute, session: 12 * hour }
const window = 15 * minute

const invalid = 'ACCESS.TOKEN_INVALID'
const unknown = 'AUTH.SESSION_NOT_FOUND'
/** The other one of two devices. */
export const deviceOf = ({ device }: { device: number }, other: number): number => (device + other) % 2
export const recent = <T>(list: readonly T[], index: number): T | undefined => list.at(-1 - (index % list.length))

const none = (): Failures => ({ since: 0, count: 0, inARow: 0, blockedUntil: null })
/** With a limit of ten per window, a hundred failures in a row lead to waits, too. */
const judged = ({ count, inARow }: Failures): number => Math.max(count, inARow - 9 * limits.failures)

export const plainSignIns = (accounts: number) => {
  const people = Array.from(
    { length: accounts },
    (): Account => ({ most: limits.most, places: [], guarded: false, backups: 0, logins: none(), factors: none() }),
  )
  const person = (index: number): Account => {
    const found = people[index]
    if (!found) throw new Error(`nobody is number ${index}`)
    return found
  }
  const logins: Login[] = []
  const sessions: Session[] = []
  const links: { account: Account; made: number; over: boolean }[] = []
  let now = 0

  const isRunning = ({ ended, begun, used }: Session): boolean =>
    !ended && now < begun + lives.session && now < used + lives.idle
  const isIn = ({ guarded, places }: Account, place: number): boolean => !guarded || places.includes(place)

  /** Counts a failure in advance. Returns whether the check may go on. */
  const count = (tried: Failures): boolean => {
    if (tried.blockedUntil !== null && now < tried.blockedUntil) return false
    const isOver =
      tried.count >= limits.failures
        ? now - (tried.blockedUntil ?? tried.since) >= 24 * hour
        : now - tried.since >= window
    const last = Math.max(tried.since, tried.blockedUntil ?? 0)
    tried.inARow = now - last >= 24 * hour ? 1 : tried.inARow + 1
    if (tried.count === 0 || isOver) Object.assign(tried, { since: now, count: 1 })
    else tried.count += 1
    const wait = Math.min(hour, minute * 2 ** (judged(tried) - limits.failures))
    tried.blockedUntil = judged(tried) >= limits.failures ? now + wait : null
    return true
  }
  const uncount = (tried: Failures): void => {
    tried.blockedUntil = judged(tried) > limits.failures ? now : null
    tried.count -= 1
    tried.inARow -= 1
  }

  const endAll = (account: Account, keep: number, except?: Session): void => {
    const all = sessions.filter((session) => session.account === account && session !== except && !session.ended)
    const stay = new Set(keep === 0 ? [] : all.filter(isRunning).slice(-keep))
    for (const session of all) session.ended ||= !stay.has(session)
  }
  const voidAll = (account: Account): void => {
    for (const one of [...logins, ...links]) if (one.account === account) one.over = true
  }

  const begin = (account: Account, device: number, right: boolean): string => {
    if (!count(account.logins)) return 'ACCESS.RATE_LIMITED'
    if (!right) return 'AUTH.INVALID_CREDENTIALS'
    uncount(account.logins)
    logins.push({ account, device, begun: now, left: limits.attempts, over: false })
    return 'none'
  }
  const finish = (login: Login | undefined, other: number, place: number, proof: Proof): string => {
    if (!login || login.over || login.left === 0 || now >= login.begun + lives.login) return unknown
    if (deviceOf(login, other) !== login.device) {
      login.left -= 1
      return 'AUTH.CLIENT_MISMATCH'
    }
    const { account } = login
    if (!isIn(account, place)) return 'ACCESS.IP_NOT_ALLOWED'
    if (!count(account.logins)) return 'ACCESS.RATE_LIMITED'
    login.left -= 1
    const isGood = proof === 'right' || (proof === 'backup' && account.backups > 0)
    if (!isGood) return 'AUTH.CODE_INVALID'
    if (proof === 'backup') account.backups -= 1
    login.over = true
    account.logins = none()
    endAll(account, account.most - 1)
    const times = { begun: now, used: now, steppedUp: now, accessUntil: now + lives.access }
    sessions.push({ account, device: login.device, ...times, ended: false, spent: [null] })
    return 'none'
  }

  /** A request with a session's newest access token from its own device. */
  const enter = (session: Session | undefined, place: number): string => {
    if (!session || now >= session.accessUntil || !isRunning(session)) return invalid
    if (!isIn(session.account, place)) return 'ACCESS.IP_NOT_ALLOWED'
    if (now - session.used >= minute) session.used = now
    return 'none'
  }
  const refresh = (session: Session | undefined, token: number, other: number, place: number): string => {
    if (!session || deviceOf(session, other) !== session.device || !isRunning(session)) return unknown
    if (!isIn(session.account, place)) return 'ACCESS.IP_NOT_ALLOWED'
    const at = session.spent.length - 1 - (token % session.spent.length)
    const spent = session.spent[at] ?? null
    if (spent !== null && now - spent > 30) {
      session.ended = true
      return unknown
    }
    if (spent === null) {
      session.spent[at] = now
      session.spent.push(null)
    }
    session.used = now
    session.accessUntil = Math.min(now + lives.access, session.begun + lives.session)
    return 'none'
  }

  const within = (session: Session, command: Command): string => {
    const { account } = session
    switch (command.kind) {
      case 'change':
        voidAll(account)
        endAll(account, 0, session)
        return 'none'
      case 'logout':
        session.ended = true
        return 'none'
      case 'terminateAll':
        endAll(account, 0, session)
        return 'none'
      case 'terminate': {
        const target = recent(sessions, command.target)
        if (target?.account !== account || target.ended) return 'RESOURCE.NOT_FOUND'
        target.ended = true
        return 'none'
      }
      case 'bound':
        account.most = command.most
        endAll(account, command.most - 1, session)
        return 'none'
      case 'generate':
        account.backups = limits.backups
        return 'none'
      case 'allow':
        if (account.guarded && !command.places.includes(command.place)) return 'STATE.CONFLICT'
        account.places = command.places
        return 'none'
      case 'enable':
        if (!account.places.includes(command.place)) return 'STATE.CONFLICT'
        account.guarded = true
        return 'none'
      case 'disable':
        account.guarded = false
        return 'none'
      case 'stepUp':
        if (!count(account.factors)) return 'ACCESS.RATE_LIMITED'
        if (!command.right) return 'AUTH.CODE_INVALID'
        account.factors = none()
        session.steppedUp = now
        return 'none'
      default:
        throw new Error(command.kind)
    }
  }

  const reset = (index: number): string => {
    const link = recent(links, index)
    if (!link || link.over || now >= link.made + lives.link) return unknown
    voidAll(link.account)
    link.account.logins = none()
    endAll(link.account, 0)
    return 'none'
  }

  /** Applies an action if it is allowed. Returns the code of its refusal, or `none`. */
  const act = (command: Command): string => {
    switch (command.kind) {
      case 'begin':
        return begin(person(command.account), command.device, command.right)
      case 'signIn': {
        const begun = begin(person(command.account), command.device, true)
        return begun === 'none' ? finish(logins.at(-1), 0, 0, 'right') : begun
      }
      case 'finish':
        return finish(recent(logins, command.login), command.other, command.place, command.proof)
      case 'refresh':
        return refresh(recent(sessions, command.session), command.token, command.other, command.place)
      case 'forgot':
        links.push({ account: person(command.account), made: now, over: false })
        return 'none'
      case 'reset':
        return reset(command.link)
      case 'wait':
        now += command.seconds
        return 'none'
      case 'restart':
        return 'none'
      default: {
        const session = recent(sessions, command.session)
        const entered = enter(session, command.place)
        return session && entered === 'none' ? within(session, command) : entered
      }
    }
  }
  return { act, enter, sessions }
}
