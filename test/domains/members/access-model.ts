/* Who may do what in one workspace, in plain words. People and roles go by their numbers; the owners' role is number 0. */

import { workspacePermissions } from '../../../src/contract/index.ts'
import type { Permission } from '../../../src/kernel/index.ts'

export type Limit = { enterable?: boolean; readOnly?: boolean } | null

interface Role {
  isOwner: boolean
  rights: readonly Permission[]
}
interface Member {
  role: Role
  limit: Limit
}
interface Offer {
  by: number
  to: number
  role: Role
}

export type Command =
  | { kind: 'create'; by: number; rights: Permission[] }
  | { kind: 'grant'; by: number; role: number; rights: Permission[] }
  | { kind: 'assign'; by: number; to: number; role: number }
  | { kind: 'invite'; by: number; to: number; role: number }
  | { kind: 'accept' | 'leave'; by: number }
  | { kind: 'limit'; to: number; limit: Limit }
  | { kind: 'freeze' }

const denied = 'ACCESS.PERMISSION_DENIED'
const conflict = 'STATE.CONFLICT'
const unknown = 'RESOURCE.NOT_FOUND'

/** A workspace that number 0 owns. */
export const plainAccess = () => {
  const owners: Role = { isOwner: true, rights: [] }
  const roles = [owners]
  const members = new Map<number, Member>([[0, { role: owners, limit: null }]])
  /** What those were limited to who have left: it is theirs again when they come back. */
  const kept = new Map<number, Limit>()
  /** One waits for somebody at most. */
  const offers = new Map<number, Offer>()
  let isFrozen = false

  /** Null where somebody is no member, or may not enter. */
  const rightsOf = (who: number): Set<Permission> | null => {
    const member = members.get(who)
    if (!member || isFrozen || member.limit?.enterable === false) return null
    const held = member.role.isOwner ? workspacePermissions : member.role.rights
    return new Set(held.filter((right) => member.limit?.readOnly !== true || right.endsWith(':read')))
  }
  const has = (who: number, right: Permission): boolean => rightsOf(who)?.has(right) === true
  const isOwner = (who: number): boolean => members.get(who)?.role.isOwner === true
  const mayHandOn = (who: number, role: Role): boolean =>
    role.isOwner ? isOwner(who) : role.rights.every((right) => has(who, right))
  const isNeeded = (who: number): boolean =>
    isOwner(who) &&
    ![...members].some(
      ([other, { role, limit }]) =>
        other !== who && role.isOwner && limit?.enterable !== false && limit?.readOnly !== true,
    )

  const assign = (by: number, to: number, role: Role): string => {
    const member = members.get(to)
    if (!member) return unknown
    if ((member.role.isOwner && !isOwner(by)) || !mayHandOn(by, role)) return denied
    if (!role.isOwner && isNeeded(to)) return 'WORKSPACE.LAST_OWNER'
    member.role = role
    return 'none'
  }
  const invite = (offer: Offer): string => {
    if (!mayHandOn(offer.by, offer.role)) return denied
    if (members.has(offer.to) || offers.has(offer.to)) return conflict
    offers.set(offer.to, offer)
    return 'none'
  }
  const accept = (who: number): string => {
    const offer = offers.get(who)
    if (!offer) return unknown
    if (isFrozen) return 'WORKSPACE.NOT_ACTIVE'
    if (!has(offer.by, 'invitation:manage') || !mayHandOn(offer.by, offer.role)) return conflict
    offers.delete(who)
    members.set(who, { role: offer.role, limit: kept.get(who) ?? null })
    kept.delete(who)
    return 'none'
  }
  const leave = (who: number): string => {
    if (rightsOf(who) === null) return denied
    if (isNeeded(who)) return 'WORKSPACE.LAST_OWNER'
    kept.set(who, members.get(who)?.limit ?? null)
    members.delete(who)
    return 'none'
  }
  const limit = (who: number, to: Limit): string => {
    const member = members.get(who)
    if (!member) return unknown
    member.limit = to
    return 'none'
  }
  const create = (by: number, rights: Permission[]): string => {
    const role = { isOwner: false, rights }
    if (!mayHandOn(by, role)) return denied
    roles.push(role)
    return 'none'
  }
  const grant = (by: number, role: Role, rights: Permission[]): string => {
    const added = rights.filter((right) => !role.rights.includes(right))
    if (role.isOwner || !mayHandOn(by, { isOwner: false, rights: added })) return denied
    role.rights = rights
    return 'none'
  }

  /** Does what is asked for where it may be done; answers what it is refused with, or `none`. */
  const act = (command: Command): string => {
    const role = 'role' in command ? (roles[command.role] ?? owners) : owners
    switch (command.kind) {
      case 'create':
        return has(command.by, 'role:manage') ? create(command.by, command.rights) : denied
      case 'grant':
        return has(command.by, 'role:manage') ? grant(command.by, role, command.rights) : denied
      case 'assign':
        return has(command.by, 'member:manage') ? assign(command.by, command.to, role) : denied
      case 'invite':
        return has(command.by, 'invitation:manage') ? invite({ by: command.by, to: command.to, role }) : denied
      case 'accept':
        return accept(command.by)
      case 'leave':
        return leave(command.by)
      case 'limit':
        return limit(command.to, command.limit)
      case 'freeze':
        isFrozen = !isFrozen
        return 'none'
    }
  }
  return { act, rightsOf, roles, isFrozen: () => isFrozen }
}
