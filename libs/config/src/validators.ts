import { Matches } from 'class-validator';

// One place or several (Sentinel and Cluster list their nodes, with commas), optional credentials, optional path.
const REDIS_URL = /^(rediss?|redis(s)?\+(sentinel|cluster)|unix):\/\/.+/;
const DATABASE_URL = /^(sqlite:.+|postgres(ql)?:\/\/.+)/;

export function IsRedisUrl(options: { each?: boolean } = {}): PropertyDecorator {
  return Matches(REDIS_URL, {
    ...options,
    message: '$property must be redis://…, rediss://…, redis+sentinel://…, redis+cluster://… or unix://…',
  });
}

export function IsDatabaseUrl(): PropertyDecorator {
  return Matches(DATABASE_URL, {
    message: '$property must be sqlite:<path> or postgres://user:password@host:port/database',
  });
}
