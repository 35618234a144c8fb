//! One connection to Redis. It is opened when needed and dropped at the first failure, because the server may be another
//! one afterwards.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Cmd, ConnectionAddr, FromRedisValue};
use tokio::sync::Mutex;
use windrow_model::store::{Result, StoreError};

const TIMEOUT: Duration = Duration::from_secs(1);

pub struct Link {
    client: Client,
    connection: Mutex<Option<MultiplexedConnection>>,
}

impl Link {
    /// `redis://[user:password@]host[:port][/number]`, and `rediss://` for TLS. Connects when it is first used.
    pub fn open(url: &str) -> Result<Self> {
        // The first caller installs it; all choose the same one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::open(url)
            .map_err(|error| StoreError::Unavailable(format!("the Redis URL is not understood: {error}")))?;
        Ok(Self { client, connection: Mutex::default() })
    }

    /// Where it is, without user and password.
    pub fn place(&self) -> String {
        match self.client.get_connection_info().addr() {
            ConnectionAddr::Tcp(host, port) => format!("redis://{host}:{port}"),
            ConnectionAddr::TcpTls { host, port, .. } => format!("rediss://{host}:{port}"),
            other => other.to_string(),
        }
    }

    pub async fn ping(&self) -> Result<()> {
        self.ask::<String>(&redis::cmd("PING")).await.map(drop)
    }

    /// On a separate connection.
    pub(super) async fn subscribe(&self, channel: &str) -> redis::RedisResult<redis::aio::PubSub> {
        let connecting = tokio::time::timeout(TIMEOUT, self.client.get_async_pubsub());
        let mut subscription = connecting.await.map_err(|_| std::io::Error::from(std::io::ErrorKind::TimedOut))??;
        subscription.subscribe(channel).await?;
        Ok(subscription)
    }

    pub(super) async fn ask<T: FromRedisValue>(&self, command: &Cmd) -> Result<T> {
        let away = |error: redis::RedisError| StoreError::Unavailable(format!("Redis: {error}"));
        let mut connection = self.connect().await.map_err(away)?;
        match command.query_async(&mut connection).await {
            Ok(answer) => Ok(answer),
            Err(error) => {
                *self.connection.lock().await = None;
                Err(away(error))
            }
        }
    }

    async fn connect(&self) -> redis::RedisResult<MultiplexedConnection> {
        let mut kept = self.connection.lock().await;
        if let Some(connection) = &*kept {
            return Ok(connection.clone());
        }
        let config =
            AsyncConnectionConfig::new().set_connection_timeout(Some(TIMEOUT)).set_response_timeout(Some(TIMEOUT));
        let connection = self.client.get_multiplexed_async_connection_with_config(&config).await?;
        *kept = Some(connection.clone());
        Ok(connection)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_reads_the_password() {
        let place = |url| Link::open(url).map(|link| link.place());
        assert_eq!(place("redis://ann:secret@cache:6380/2").unwrap(), "redis://cache:6380");
        assert_eq!(place("rediss://:secret@cache").unwrap(), "rediss://cache:6379");
        let refused = place("http://ann:secret@cache").unwrap_err().to_string();
        assert!(refused.contains("not understood") && !refused.contains("secret"), "{refused}");
    }
}
