/** Days are UTC days. */
export interface Quota {
  filesPerDay: number
  bytesPerDay: number
  files: number
  bytes: number
}

/** The quota of an account covers all workspaces. */
export interface Quotas {
  account: Quota
  workspace: Quota
}

/** Files deleted today still count towards the daily quota, but not towards the total. */
export interface Usage {
  filesToday: number
  bytesToday: number
  files: number
  bytes: number
}

export const exceededPart = (usage: Usage, quota: Quota): 'day' | 'total' | null => {
  if (usage.files > quota.files || usage.bytes > quota.bytes) return 'total'
  return usage.filesToday > quota.filesPerDay || usage.bytesToday > quota.bytesPerDay ? 'day' : null
}
