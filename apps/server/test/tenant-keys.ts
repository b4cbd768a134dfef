/** Secrets of keys of two tenants and of one for all. */
export const ADMIN = 'admin-secret-of-24-characters';
export const ANA = 'ana-operates-tenant-a-of-24-ch';
export const ANA_ADMIN = 'ana-is-admin-of-tenant-a-24-ch';
export const BEN = 'ben-operates-tenant-b-of-24-ch';

/** The keys, as a server takes them. */
export const KEYS = [
  `root:admin:${ADMIN}`,
  `ana:operate:a:${ANA}`,
  `boss:admin:a:${ANA_ADMIN}`,
  `ben:operate:b:${BEN}`,
].join(',');
