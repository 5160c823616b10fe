//! A server in a temporary home, and a client that knows nothing but what the server says of itself.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ExitStatus, Stdio};

use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, MethodDescriptor};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};
use tonic_reflection::pb::v1;
use v1::server_reflection_client::ServerReflectionClient;
use v1::server_reflection_request::MessageRequest;
use v1::server_reflection_response::MessageResponse;

use crate::support::Home;

/// The running program. It is killed on drop.
pub(crate) struct Server {
    child: Child,
    /// Where it listens, as it printed it.
    pub(crate) address: String,
}

impl Server {
    pub(crate) fn start(home: &Home, args: &[&str]) -> Self {
        let mut child = home
            .command(&[&["serve"], args].concat())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().expect("piped"));
        out.read_line(&mut line).expect("a line");
        let address = line.trim_end().strip_prefix("listening on ");
        let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
        Self { child, address }
    }

    pub(crate) async fn connect(&self) -> Channel {
        let address = match self.address.strip_prefix("unix:") {
            Some(_) => self.address.clone(),
            None => format!("http://{}", self.address),
        };
        let endpoint = Endpoint::from_shared(address).expect("an address");
        endpoint.connect().await.expect("connected")
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("sent");
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        self.child.wait().expect("ends")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A client with the schema that the server reflects.
#[derive(Clone)]
pub(crate) struct Client {
    channel: Channel,
    pub(crate) schema: DescriptorPool,
}

impl Client {
    pub(crate) async fn new(server: &Server) -> Self {
        let channel = server.connect().await;
        let mut schema = DescriptorPool::new();
        for service in services(channel.clone()).await {
            for file in files_of(channel.clone(), &service).await {
                let added = schema.decode_file_descriptor_proto(file.as_slice());
                added.expect("a valid schema");
            }
        }
        Self { channel, schema }
    }

    pub(crate) fn method(&self, name: &str) -> MethodDescriptor {
        let (service, name) = name.rsplit_once('/').expect("SERVICE/METHOD");
        let service = self.schema.get_service_by_name(service).expect("served");
        let found = service.methods().find(|method| method.name() == name);
        found.unwrap_or_else(|| panic!("no method {name}"))
    }

    /// Calls a method of the timeline.
    pub(crate) async fn call(&self, method: &str, request: Value) -> Result<Value, Status> {
        self.call_of(&format!("tome.v1.Timeline/{method}"), request)
            .await
    }

    /// Calls any method.
    pub(crate) async fn call_of(&self, method: &str, request: Value) -> Result<Value, Status> {
        use prost_reflect::prost::Message as _;
        let input = self.method(method).input();
        let message = DynamicMessage::deserialize(input, request).expect("of the schema");
        self.send(method, message.encode_to_vec()).await
    }

    /// Calls a method with these bytes in the place of a message.
    pub(crate) async fn send(&self, method: &str, bytes: Vec<u8>) -> Result<Value, Status> {
        let codec = BytesCodec(self.method(method).output());
        let mut grpc = Grpc::new(self.channel.clone());
        grpc.ready().await.expect("connected");
        let path = PathAndQuery::try_from(format!("/{method}")).expect("a path");
        let answer = grpc.unary(Request::new(bytes), path, codec).await?;
        let options = prost_reflect::SerializeOptions::new()
            .use_proto_field_name(true)
            .stringify_64_bit_integers(false)
            .skip_default_fields(false);
        let json = answer
            .into_inner()
            .serialize_with_options(serde_json::value::Serializer, &options);
        Ok(json.expect("JSON"))
    }

    /// Calls a method that the schema does not have.
    pub(crate) async fn call_unknown(&self, path: &'static str) -> Status {
        let codec = BytesCodec(self.method("tome.v1.Timeline/GetNode").output());
        let mut grpc = Grpc::new(self.channel.clone());
        grpc.ready().await.expect("connected");
        let path = PathAndQuery::from_static(path);
        let answer = grpc.unary(Request::new(Vec::new()), path, codec).await;
        answer.expect_err("no such method")
    }
}

async fn reflect(channel: Channel, question: MessageRequest) -> MessageResponse {
    let request = v1::ServerReflectionRequest {
        host: String::new(),
        message_request: Some(question),
    };
    let mut client = ServerReflectionClient::new(channel);
    let requests = tokio_stream::once(request);
    let answers = client.server_reflection_info(requests).await;
    let answer = answers.expect("answered").into_inner().message().await;
    let answer = answer.expect("answered").expect("one answer");
    answer.message_response.expect("an answer")
}

/// The names of the services.
pub(crate) async fn services(channel: Channel) -> Vec<String> {
    match reflect(channel, MessageRequest::ListServices(String::new())).await {
        MessageResponse::ListServicesResponse(list) => {
            let services = list.service.into_iter();
            services.map(|service| service.name).collect()
        }
        other => panic!("{other:?}"),
    }
}

async fn files_of(channel: Channel, service: &str) -> Vec<Vec<u8>> {
    let question = MessageRequest::FileContainingSymbol(service.to_owned());
    match reflect(channel, question).await {
        MessageResponse::FileDescriptorResponse(files) => files.file_descriptor_proto,
        other => panic!("{other:?}"),
    }
}

/// Sends bytes as they are, and reads messages of a type.
struct BytesCodec(MessageDescriptor);

impl Codec for BytesCodec {
    type Encode = Vec<u8>;
    type Decode = DynamicMessage;
    type Encoder = BytesEncoder;
    type Decoder = MessageDecoder;

    fn encoder(&mut self) -> BytesEncoder {
        BytesEncoder
    }

    fn decoder(&mut self) -> MessageDecoder {
        MessageDecoder(self.0.clone())
    }
}

struct BytesEncoder;

impl Encoder for BytesEncoder {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, bytes: Vec<u8>, into: &mut EncodeBuf<'_>) -> Result<(), Status> {
        use prost_reflect::prost::bytes::BufMut as _;
        into.put_slice(&bytes);
        Ok(())
    }
}

struct MessageDecoder(MessageDescriptor);

impl Decoder for MessageDecoder {
    type Item = DynamicMessage;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<DynamicMessage>, Status> {
        let message = DynamicMessage::decode(self.0.clone(), from);
        let wrong = |error| Status::internal(format!("not of the schema: {error}"));
        message.map(Some).map_err(wrong)
    }
}
