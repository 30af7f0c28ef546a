/**
 * Coded values: enumerations that travel as `{code, value, label, description}` (interface.md 2.2).
 * The numbers of the interface are kept; members of its families continue their blocks, and families
 * of our own live in 1009xxxx. A deployment may override any number (`codedValues` in the configuration).
 * Labels and descriptions stand in config/locales under `coded.<family>.<code>`.
 */
export const codedFamilies = {
  accountPortal: { SYSTEM: 10010101, CONSUMER: 10010104 },
  accountStatus: { PENDING_APPROVAL: 10010201, ACTIVE: 10010202, SUSPENDED: 10010203, REJECTED: 10010204 },
  workspaceStatus: { ACTIVE: 10010304, FROZEN: 10010305 },
  roleType: { OWNER: 10010901, CUSTOM: 10010902 },
  mfaMethod: { EMAIL: 10011001, OTP: 10011002, BACKUP_CODE: 10011005 },
  workspaceKind: { LIVE: 10050101, SANDBOX: 10050102 },
  joinSource: { REGISTRATION: 10050201, INVITATION: 10050202, CREATION: 10050203 },
  walletStatus: { ACTIVE: 10090101, FROZEN: 10090102, CLOSED: 10090103 },
  transferStatus: { PENDING_APPROVAL: 10090201, PROCESSING: 10090202, COMPLETED: 10090203, FAILED: 10090204 },
  flowType: {
    TRANSFER: 10090301,
    EXCHANGE: 10090302,
    RECHARGE: 10090303,
    WITHDRAWAL: 10090304,
    FEE: 10090305,
    OPENING: 10090306,
  },
  flowDirection: { IN: 10090401, OUT: 10090402 },
  exchangeStatus: { PROCESSING: 10090501, COMPLETED: 10090502 },
  quoteStatus: { OPEN: 10090601, USED: 10090602, EXPIRED: 10090603 },
  fixedSide: { SOURCE: 10090701, TARGET: 10090702 },
  rechargeStatus: {
    PENDING_PAYMENT: 10090801,
    PROOF_SUBMITTED: 10090802,
    COMPLETED: 10090803,
    REJECTED: 10090804,
    CANCELLED: 10090805,
    EXPIRED: 10090806,
  },
  withdrawalStatus: {
    PENDING_APPROVAL: 10090901,
    PROCESSING: 10090902,
    COMPLETED: 10090903,
    CANCELLED: 10090904,
    REJECTED: 10090905,
    FAILED: 10090906,
  },
  withdrawalChannelStatus: { PENDING_VERIFICATION: 10091001, ACTIVE: 10091002, DISABLED: 10091003, REJECTED: 10091004 },
  channelType: { BANK: 10091101, CRYPTO: 10091102, CARD: 10091103 },
  apiKeyStatus: { ACTIVE: 10091201, DISABLED: 10091202, EXPIRED: 10091203, DELETED: 10091204 },
  invitationStatus: {
    PENDING: 10091301,
    ACCEPTED: 10091302,
    DECLINED: 10091303,
    CANCELLED: 10091304,
    EXPIRED: 10091305,
  },
  fileStatus: { AVAILABLE: 10091401, DELETED: 10091402 },
  filePurpose: { RECHARGE_PROOF: 10091501, DOCUMENT: 10091502, AVATAR: 10091503 },
  exportStatus: { QUEUED: 10091601, RUNNING: 10091602, COMPLETED: 10091603, FAILED: 10091604, EXPIRED: 10091605 },
  exportType: {
    FLOWS: 10091701,
    TRANSFERS: 10091702,
    EXCHANGES: 10091703,
    RECHARGES: 10091704,
    WITHDRAWALS: 10091705,
    LOGIN_HISTORY: 10091706,
  },
  exportFormat: { CSV: 10091801, XLSX: 10091802, JSONL: 10091803 },
  auditOutcome: { SUCCESS: 10091901, REFUSED: 10091902 },
} as const satisfies Record<string, Record<string, number>>

export type CodedFamily = keyof typeof codedFamilies
export type CodeOf<F extends CodedFamily> = Extract<keyof (typeof codedFamilies)[F], string>

export const codedFamilyNames = Object.keys(codedFamilies) as CodedFamily[]
export const isCodedFamily = (name: string): name is CodedFamily => Object.hasOwn(codedFamilies, name)

export interface CodedValue {
  code: string
  value: number
  label: string
  description: string
}

/** The codes of a family, for schemas and generated documents. */
export const codesOf = <F extends CodedFamily>(family: F): CodeOf<F>[] =>
  Object.keys(codedFamilies[family]) as CodeOf<F>[]
